"""All methods by name: an explicit dict."""

from __future__ import annotations

from truelabel.methods.cross_entropy import CrossEntropyMethod
from truelabel.methods.majority_vote import MajorityVote
from truelabel.methods.method import Method

METHODS: dict[str, Method] = {
    "cross-entropy": CrossEntropyMethod(),
    "majority-vote": MajorityVote(),
}


def get_method(name: str) -> Method:
    """A method by its name, or an error that lists the names.

    Example:
        >>> get_method("majority-vote").with_options(ties="lowest").options()
        {'ties': 'lowest'}
    """
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    return METHODS[name]
