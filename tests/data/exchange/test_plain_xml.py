from __future__ import annotations

import pytest

from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.plain_xml import parse_xml

LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><annotations>&i;</annotations>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><annotations>&f;</annotations>'


def test_elements_attributes_and_text() -> None:
    text = '<?xml version="1.0" encoding="utf-8"?><a><b c="ü &amp; &#228;">t<d/></b></a>'
    root = parse_xml(text.encode(), "a.xml")
    assert (root.tag, root[0].tag, root[0].get("c"), root[0].text, root[0][0].tag) == ("a", "b", "ü & ä", "t", "d")


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, "<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM 'http://x/y.dtd'><a/>"])
def test_a_document_type_is_refused(text: str) -> None:
    with pytest.raises(ExchangeError, match="a.xml has a DOCTYPE, which may expand without end: take it out"):
        parse_xml(text.encode(), "a.xml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no XML that can be read"),
        (b"<a>", "is no XML"),
        (b"<a>&b;</a>", "is no XML"),
        (b"\x00\xff", "is no XML"),
        (b'<?xml version="1.0" encoding="nope"?><a/>', "is no XML"),
        (b"<a>" * 60, "nested more than 50 deep"),
    ],
)
def test_damage_is_one_line(content: bytes, message: str) -> None:
    with pytest.raises(ExchangeError, match=message) as error:
        parse_xml(content, "a.xml")
    assert "\n" not in str(error.value)
