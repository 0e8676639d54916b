"""Ways to learn the truth from what people said, by name."""

from truelabel.methods.catalogue import METHODS, get_method
from truelabel.methods.method import Learned, Method, learn
from truelabel.methods.search import Grid, Searched, Trial, search

__all__ = ["METHODS", "Grid", "Learned", "Method", "Searched", "Trial", "get_method", "learn", "search"]
