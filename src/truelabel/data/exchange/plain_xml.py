"""XML without what makes it dangerous: a document type, and with it entities that expand or reach for files."""

from __future__ import annotations

from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from truelabel.data.exchange.entries import ExchangeError

DEEPEST = 50
"""Elements within each other; tools need four."""


def parse_xml(content: bytes, name: str) -> Element:
    """The root element of a document without DOCTYPE.

    Args:
        content: of the file.
        name: of the file, for messages.

    Raises:
        ExchangeError: if it has a DOCTYPE, is nested absurdly, or is no XML.

    Example:
        >>> parse_xml(b'<annotations><image name="a.png"/></annotations>', "a.xml")[0].get("name")
        'a.png'
        >>> parse_xml(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "a.xml")
        Traceback (most recent call last):
        truelabel.data.exchange.entries.ExchangeError: a.xml has a DOCTYPE, which may expand without end: take it out
    """
    builder, depth = TreeBuilder(), 0
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ExchangeError(f"{name} is nested more than {DEEPEST} deep: export it again")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> NoReturn:
        raise ExchangeError(f"{name} has a DOCTYPE, which may expand without end: take it out")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, UnicodeError, LookupError) as error:  # the last two from what the header promises
        raise ExchangeError(f"{name} is no XML that can be read ({error}): export it again") from error
    root: Element = builder.close()
    return root
