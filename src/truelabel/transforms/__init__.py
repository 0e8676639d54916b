"""What happens to a batch before the learner sees it."""

from truelabel.transforms.transform import Transform

__all__ = ["Transform"]
