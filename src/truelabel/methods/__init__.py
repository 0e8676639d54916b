"""Ways to learn the truth from what people said, by name."""

from truelabel.methods.catalogue import METHODS, get_method
from truelabel.methods.method import Learned, Method, learn

__all__ = ["METHODS", "Learned", "Method", "get_method", "learn"]
