"""Requests of Torque as PBS's select: those that a recorded server does not have, and those that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torque.translate.node_request_as_select import read_request


@pytest.mark.parametrize(
    ("resources", "select", "place", "slots"),
    [
        ({"nodes": "4"}, "4:ncpus=1", "scatter", 4),
        ({"nodes": "n1+n2:ppn=3"}, "1:ncpus=1:vnode=n1+1:ncpus=3:vnode=n2", "scatter", 4),
        ({"nodes": "2:ppn=4:gpus=1:big"}, "2:ncpus=4:ngpus=1:property_big=True", "scatter", 8),
        ({"nodes": "1:ppn=2#excl"}, "1:ncpus=2", "scatter:excl", 2),
        ({"nodes": "1:ppn=2", "ncpus": "7"}, "1:ncpus=2", "scatter", 2),
        ({"size": "6"}, "6:ncpus=1", "free", 6),
        ({"procs": "2", "ncpus": "1"}, "2:ncpus=1", "free", 2),
    ],
)
def test_requests(resources: dict[str, str], select: str, place: str, slots: int) -> None:
    texts = {f"Resource_List.{name}": text for name, text in resources.items()}
    assert read_request(texts, {"n1", "n2"}) == (select, place, slots)


@pytest.mark.parametrize(
    "text", ["0", "2:ppn=0", "1:ppn=x", "1:mics=2", "1::ppn=2", "1:ppn=2#what", "", "+", "1+", "9" * 30]
)
def test_a_request_that_cannot_be_read_has_no_slots(text: str) -> None:
    found = read_request({"Resource_List.nodes": text}, ())
    assert found.slots == (1 if not text else 0)
    if text:
        assert found.select == f"1:nodes:{text}"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in ("nodes", "procs", "ncpus", "size"):
        found = read_request({f"Resource_List.{name}": text}, {"n1"})
        assert found.slots >= 0
        assert found.select
