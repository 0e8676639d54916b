"""All papers by name: an explicit dict."""

from __future__ import annotations

import fnmatch

from truelabel.experiments import collier2020, englesson2023, tanno2019, yao2021, zhang2020
from truelabel.experiments.table import Paper, Table

PAPERS: dict[str, Paper] = {
    "tanno2019": tanno2019.PAPER,
    "zhang2020": zhang2020.PAPER,
    "collier2020": collier2020.PAPER,
    "yao2021": yao2021.PAPER,
    "englesson2023": englesson2023.PAPER,
}


def find_tables(name: str) -> tuple[Paper, tuple[Table, ...]]:
    """A paper and its tables: all of them, one, or those that match a pattern.

    Args:
        name: such as ``"englesson2023"``, ``"englesson2023/table-1"`` or ``"englesson2023/table-[12]"``.

    Example:
        >>> paper, tables = find_tables("englesson2023/table-1")
        >>> tables[0].title
        'synthetic noise on MNIST, CIFAR-10 and CIFAR-100'
    """
    paper, slash, table = name.partition("/")
    if paper not in PAPERS:
        raise ValueError(f"there is no paper {paper!r}: choose from {', '.join(PAPERS)}")
    tables = PAPERS[paper].tables
    if not slash:
        return PAPERS[paper], tables
    named = tuple(known for known in tables if fnmatch.fnmatchcase(known.name, table))
    if not named:
        raise ValueError(f"{paper} has no {table!r}: choose from {', '.join(known.name for known in tables)}")
    return PAPERS[paper], named
