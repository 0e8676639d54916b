"""Which examples count, and for which peer."""

from truelabel.selection.selector import KeepAll, Selector

__all__ = ["KeepAll", "Selector"]
