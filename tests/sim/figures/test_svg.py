"""A drawing as text: well formed whatever is written into it, and nothing that a viewer would fetch."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.figures.svg import Drawing

NAMESPACE = "{http://www.w3.org/2000/svg}"
TEXTS = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc", "Cn")))


@given(TEXTS, TEXTS)
def test_any_text_is_shown_as_it_is(title: str, words: str) -> None:
    drawing = Drawing(10, 10, title)
    drawing.words(1, 2, words)
    root = ET.fromstring(drawing.show())  # noqa: S314 - our own text
    assert (root.findtext(f"{NAMESPACE}title"), root.findtext(f"{NAMESPACE}text")) == (title, words)


def test_shapes_come_in_the_order_they_were_put_down() -> None:
    drawing = Drawing(100, 50, "shapes")
    drawing.box(1, 2, 3, 4, "#ffffff", "#000000")
    drawing.line((1, 2), (3, 4.25), "#b00020", 3, dashes="5 4")
    drawing.words(5, 6, "here", "end", bold=True)
    root = ET.fromstring(drawing.show())  # noqa: S314 - our own text
    assert [child.tag.removeprefix(NAMESPACE) for child in root] == ["title", "rect", "rect", "line", "text"]
    assert root[3].get("y2") == "4.2"
    assert root[3].get("stroke-dasharray") == "5 4"
    assert root[4].get("text-anchor") == "end"


def test_an_arrow_s_head_is_at_its_end_in_any_direction() -> None:
    drawing = Drawing(100, 50, "arrows")
    drawing.arrow((10, 20), (10, 5), "#000000")
    lines = ET.fromstring(drawing.show()).findall(f"{NAMESPACE}line")  # noqa: S314 - our own text
    assert [(line.get("x2"), line.get("y2")) for line in lines] == [("10", "5")] * 3
    assert sorted((line.get("x1"), line.get("y1")) for line in lines) == [("10", "20"), ("14", "11"), ("6", "11")]


@pytest.mark.parametrize("word", ["href", "url(", "@import"])
def test_nothing_is_fetched(word: str) -> None:
    drawing = Drawing(10, 10, "alone")
    drawing.box(0, 0, 1, 1, "#ffffff")
    drawing.words(0, 0, "words")
    assert word not in drawing.show()
