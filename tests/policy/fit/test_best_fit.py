"""Where requests are placed: on the fewest vnodes, the tightest first, and exactly as they ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode, parse_request
from policy.fit.best_fit import fit
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import show_cores, vnode


def where(select: str, *vnodes: Vnode, place: str = "") -> str | None:
    capacity = Capacity.of({v.name: v for v in vnodes})
    before = dict(capacity.levels)
    allocation = fit(capacity, parse_request(select, place), -1)
    assert capacity.levels == before
    return None if allocation is None else show_cores(allocation)


A4, B2, C8 = vnode("a", 4), vnode("b", 2), vnode("c", 8)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("2", "b=2"),
        ("3", "a=3"),
        ("5", "c=5"),
        ("9", "c=8 b=1"),
        ("12", "c=8 a=4"),
        ("13", "c=8 a=4 b=1"),
        ("14", "c=8 a=4 b=2"),
        ("15", None),
        ("2:ncpus=3", "c=6"),
        ("3:ncpus=3", "c=6 a=3"),
        ("1:ncpus=5", "c=5"),
        ("2:ncpus=5", None),
        ("1:ncpus=2+1:ncpus=8", "b=2 c=8"),
    ],
)
def test_one_vnode_if_one_holds_all_else_the_emptiest_first(select: str, expected: str | None) -> None:
    assert where(select, A4, B2, C8) == expected


def test_ties_go_by_name() -> None:
    assert where("2", vnode("b", 2), vnode("a", 2)) == "a=2"


def test_every_consumable_binds() -> None:
    small, large = vnode("a", 4, has={"mem": 10}), vnode("b", 4, has={"mem": 30})
    assert where("1:ncpus=1:mem=20kb", small, large) == "b=1"
    assert where("3:ncpus=1:mem=10kb", small, large) == "b=3"
    assert where("4:ncpus=1:mem=10kb", small, large) == "b=3 a=1"
    assert where("5:ncpus=1:mem=10kb", small, large) is None
    assert where("1:ncpus=0:mem=30kb", small, large) == "b=0"
    assert where("1:ngpus=1", small, large) is None


def test_the_chunks_of_one_job_share_what_is_there() -> None:
    assert where("1:ncpus=3+1:ncpus=3", vnode("a", 4), vnode("b", 4)) == "a=3 b=3"
    assert where("1:ncpus=3+1:ncpus=3", vnode("a", 4)) is None
    assert where("1:ncpus=1:mem=6kb+1:ncpus=1:mem=6kb", vnode("a", 4, has={"mem": 10})) is None


def test_scatter_uses_each_host_once() -> None:
    one_host = (vnode("a", 4, host="h"), vnode("b", 4, host="h"), vnode("c", 4))
    assert where("2:ncpus=2", *one_host, place="scatter") == "a=2 c=2"
    assert where("3:ncpus=2", *one_host, place="scatter") is None
    assert where("3:ncpus=2", *one_host, place="vscatter") == "a=2 b=2 c=2"
    assert where("1:ncpus=1+2:ncpus=1", A4, B2, C8, place="scatter") == "b=1 a=1 c=1"


def test_pack_uses_one_host() -> None:
    assert where("3:ncpus=2", A4, B2, C8, place="pack") == "c=6"
    assert where("5:ncpus=2", A4, B2, C8, place="pack") is None
    split = (vnode("a", 2, host="h"), vnode("b", 2, host="h"), vnode("c", 3))
    assert where("4:ncpus=1", *split, place="pack") == "a=2 b=2"


def test_a_group_is_kept_together() -> None:
    racks = (
        vnode("a", 4, attributes={"rack": "r1"}),
            vnode("b", 4, attributes={"rack": "r2"}),
            vnode("c", 4, attributes={"rack": "r2"}),
    )  # fmt: skip
    assert where("6:ncpus=1", *racks, place="group=rack") == "b=4 c=2"
    assert where("9:ncpus=1", *racks, place="group=rack") == "a=4 b=4 c=1", "no rack could ever hold it"
    busy = [vnode(v.name, 4, attributes=v.attributes, elsewhere={"ncpus": 2}) for v in racks]
    assert where("6:ncpus=1", *busy, place="group=rack") is None, "a rack will"


@pytest.mark.parametrize("place", ["scatter", "vscatter", "free", "pack"])
def test_a_job_that_no_group_could_ever_hold_is_kept_to_none(place: str) -> None:
    hosts = [vnode(name, 4, attributes={"rack": name}) for name in "ab"]
    assert where("2:ncpus=2", *hosts, place=f"{place}:group=rack") == (
        "a=2 b=2" if place in ("scatter", "vscatter") else "a=4"
    )
    assert where("2:ncpus=3", *hosts, place=f"{place}:group=rack") == (None if place == "pack" else "a=3 b=3")
    assert where("2:ncpus=3", *hosts, place=f"{place}:group=nothing") == (None if place == "pack" else "a=3 b=3")


def test_wishes_choose_the_vnode() -> None:
    assert where("2:ncpus=1:vnode=c", A4, B2, C8) == "c=2"
    assert where("1:ncpus=1:vnode=a+1:ncpus=1:vnode=b", A4, B2, C8) == "a=1 b=1"


def test_only_vnodes_that_are_allowed_open_and_usable() -> None:
    capacity = Capacity.of({v.name: v for v in (A4, vnode("b", 4, usable=False), C8)})
    assert fit(capacity, parse_request("4"), 0b010) is None
    assert fit(capacity, parse_request("4"), 0b011) is not None
    assert fit(capacity, parse_request("5"), 0b011) is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 20))
def test_pieces_of_one_kind_fit_exactly_where_they_can(cores: list[int], each: int, pieces: int) -> None:
    vnodes = [vnode(f"v{number}", 9, elsewhere={"ncpus": 9 - idle}) for number, idle in enumerate(cores)]
    found = where(f"{pieces}:ncpus={each}", *vnodes)
    assert (found is not None) == (sum(idle // each for idle in cores) >= pieces)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 40))
def test_no_arrangement_of_single_cores_uses_fewer_vnodes(cores: list[int], need: int) -> None:
    vnodes = [vnode(f"v{number}", 9, elsewhere={"ncpus": 9 - idle}) for number, idle in enumerate(cores)]
    found = where(str(need), *vnodes)
    if found is not None:
        fewest = next(n for n in range(1, 9) if sum(sorted(cores)[-n:]) >= need)
        assert len(found.split()) == fewest


def test_chunks_without_cores_go_to_a_full_vnode_or_one_with_too_much_on_it() -> None:
    over = vnode("a", 2, elsewhere={"ncpus": 3}, has={"mem": 9})
    for place in ("free", "pack"):
        assert where("2:ncpus=0:mem=1kb", over, place=place) == "a=0", place
        assert where("2:ncpus=0:mem=1kb", over, vnode("b", 4, host="h"), vnode("c", 4, host="h"), place=place) == "a=0"
