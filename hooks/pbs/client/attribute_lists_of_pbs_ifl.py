"""The linked lists that pbs_ifl takes and gives: built for a request, read from an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hooks.pbs.server_status_type_and_attributes import LONGEST_TEXT, shorten_text


class AttributeChain:
    """A linked list of attributes for the server, kept alive as long as this object is."""

    def __init__(self, pbs_ifl: Any, attributes: Sequence[tuple[str, str | None, str]]) -> None:
        self.head: Any = None
        self._links: list[Any] = []
        for name, resource, value in reversed(attributes):
            link = pbs_ifl.attrl()
            link.name, link.resource, link.value, link.next = name, resource, value, self.head
            self._links.append(link)
            self.head = link


class CriteriaChain:
    """A linked list of criteria (attribute, value, comparison) that a job has to meet all of, kept alive as long as
    this object is."""

    def __init__(self, pbs_ifl: Any, criteria: Sequence[tuple[str, str, int]]) -> None:
        self.head: Any = None
        self._links: list[Any] = []
        for name, value, operation in reversed(criteria):
            link = pbs_ifl.attropl()
            link.name, link.resource, link.value, link.op, link.next = name, "", value, operation, self.head
            self._links.append(link)
            self.head = link


def walk(link: Any) -> Iterator[Any]:
    """The elements of a linked list from its first one on."""
    while link:
        yield link
        link = link.next


def texts_of(status: Any) -> dict[str, str]:
    """An object's attributes; a value that the server sends in several pieces is joined by commas."""
    texts: dict[str, str] = {}
    attribute = status.attribs
    # A pass reads some hundred thousand attributes: one call less for each of them is seen.
    while attribute:
        resource, value = attribute.resource, attribute.value or ""
        if not value.isascii():
            value = clean(value)
        key = f"{attribute.name}.{resource}" if resource else attribute.name
        if key in texts:
            value = f"{texts[key]},{value}"
        texts[key] = value if len(value) <= LONGEST_TEXT else shorten_text(key, value)
        attribute = attribute.next
    return texts


def clean(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced, so that it can be written anywhere."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
