"""Vnodes as ranges: no name is lost or invented, whatever names a site has chosen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.text.name_ranges import folded_names, natural


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["adm-m2", "adm-m3"], "adm-m[2-3]"),
        (["n1"], "n1"),
        ([], ""),
        (["n3", "n1", "n2", "n7"], "n[1-3,7]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n008", "n009", "n010"], "n[008-010]"),
        (["n09", "n10", "n099", "n100"], "n[09-10,099-100]"),
        (["n9", "n010"], "n[9,010]"),
        (["n1", "n001"], "n[001,1]"),
        (["n1", "gpu1", "login", "n2"], "gpu1 login n[1-2]"),
        (["n1-ib", "n2-ib", "n2"], "n2 n[1-2]-ib"),
        (["n1.hpc2.example.org", "n2.hpc2.example.org"], "n[1-2].hpc2.example.org"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2] r2n1"),
        (["h[0]", "h[1]", "h2"], "h2 h[0] h[1]"),
    ],
)
def test_names_that_follow_each_other_share_a_range(names: list[str], shown: str) -> None:
    assert folded_names(names, most=9) == shown


def test_after_so_many_ranges_the_rest_is_a_number() -> None:
    names = ["n1", "n2", "n5", "n7", *(f"x{number}" for number in range(20, 30))]
    assert folded_names(names) == "n[1-2,5,7] and 10 more"
    assert folded_names(names, most=1) == "n[1-2] and 12 more"


NAMES = st.lists(
    st.from_regex(r"\A[a-c]{0,2}[0-9]{0,3}(-ib)?(\.d1)?\Z").filter(bool), unique=True, min_size=1, max_size=30
)


def unfolded(shown: str) -> list[str]:
    """The names that the ranges stand for."""
    names = []
    for part in shown.split(" "):
        before, bracket, rest = part.partition("[")
        numbers, _, after = rest.partition("]")
        if not bracket:
            names.append(part)
        for each in numbers.split(",") if bracket else ():
            first, _, last = each.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.append(f"{before}{str(number).zfill(len(first))}{after}")
    return names


@given(NAMES)
def test_ranges_stand_for_exactly_the_names(names: list[str]) -> None:
    assert sorted(unfolded(folded_names(names, most=99))) == sorted(names)


def test_the_natural_order_has_numbers_by_value() -> None:
    assert sorted(["v10", "v9", "v1", "w"], key=natural) == ["v1", "v9", "v10", "w"]
    assert re.fullmatch(r"v\[1,9-10\] w", folded_names(["v10", "v9", "v1", "w"]))
