"""The last guard: what would not fit is refused, whatever counts of it the server shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hooks.admission.start.refuse_overcommitting_start import VnodeUse, refuse_overcommit
from policy.model.allocation import parse_exec_vnode


def room(used: int = 0, jobs: str = "", *, alone: bool = False, cores: int = 8) -> VnodeUse:
    return VnodeUse({"ncpus": str(cores), "mem": "32gb"}, {"ncpus": str(used), "mem": "0kb"}, jobs, alone)


def refuse(exec_vnode: str, vnode_uses: dict[str, VnodeUse], allocations: dict[str, str] | None = None) -> str | None:
    return refuse_overcommit(parse_exec_vnode(exec_vnode), vnode_uses, lambda job: (allocations or {}).get(job, ""))


def test_a_start_that_fits_is_let_through() -> None:
    assert refuse("(v1:ncpus=4)+(v2:ncpus=8:mem=32gb)", {"v1": room(4), "v2": room()}) is None


def test_a_start_that_does_not_fit_is_refused_with_the_numbers() -> None:
    assert refuse("(v1:ncpus=5)", {"v1": room(4)}) == (
        "vnode v1 has ncpus=8, of which 4 are in use: there is no room for 5 more"
    )


def test_the_chunks_on_one_vnode_count_together() -> None:
    assert refuse("(v1:ncpus=4)+(v1:ncpus=5)", {"v1": room()})


def test_memory_counts_too() -> None:
    refusal = refuse("(v1:ncpus=1:mem=33gb)", {"v1": room()})
    assert refusal is not None
    assert "mem=32gb" in refusal


def test_what_a_vnode_does_not_say_it_has_is_not_counted_there() -> None:
    jobs_ask = room()._replace(assigned={"ncpus": "0", "vmem": "2gb"})
    assert refuse("(v1:ncpus=1:vmem=4gb)", {"v1": jobs_ask}) is None


def test_a_vnode_held_alone_takes_nothing() -> None:
    assert refuse("(v1:ncpus=1)", {"v1": room(1, alone=True)}) == "vnode v1 is used by one job alone"


def test_a_vnode_that_the_server_does_not_know_is_the_servers_to_refuse() -> None:
    assert refuse("(nosuch:ncpus=99)", {}) is None


def test_a_start_that_the_server_has_taken_but_does_not_count_yet_is_counted() -> None:
    vnode_uses = {"v1": room(0, ", ".join(["12.s/0"] * 5))}
    assert refuse("(v1:ncpus=4)", vnode_uses, {"12.s": "(v1:ncpus=5)"})
    assert refuse("(v1:ncpus=3)", vnode_uses, {"12.s": "(v1:ncpus=5)"}) is None


def test_jobs_that_hold_nothing_of_the_vnode_do_not_count() -> None:
    vnode_uses = {"v1": room(0, "12.s/0, 13.s/0")}
    assert refuse("(v1:ncpus=8)", vnode_uses, {"12.s": "", "13.s": "(v2:ncpus=8)"}) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6), st.integers(1, 9))
def test_no_order_of_starts_gets_a_vnode_more_than_it_has(jobs: list[tuple[int, bool]], asked: int) -> None:
    """Each job holds its cores; the server counts some of them only in its list."""
    listed = ", ".join(f"{number}.s/0" for number, (cores, _) in enumerate(jobs) for _ in range(cores))
    counted = sum(cores for cores, is_counted in jobs if is_counted)
    allocations = {f"{number}.s": f"(v1:ncpus={cores})" for number, (cores, _) in enumerate(jobs)}
    refused = refuse(f"(v1:ncpus={asked})", {"v1": room(counted, listed)}, allocations) is not None
    assert refused is (sum(cores for cores, _ in jobs) + asked > 8)


def test_what_another_vnode_counts_is_no_reason_to_refuse() -> None:
    """PBS lets a vnode's resource point at another's (``lic=@v2``), and counts it there."""
    here = VnodeUse({"ncpus": "8", "lic": "@v2"}, {"ncpus": "0", "lic": "@v2"}, "", alone=False)
    assert refuse("(v1:ncpus=8:lic=1)", {"v1": here}) is None
    assert refuse("(v1:ncpus=9:lic=1)", {"v1": here})


def test_the_unit_is_the_resources() -> None:
    bytes_there = VnodeUse({"mem": "1048576"}, {}, "", alone=False)
    assert refuse("(v1:mem=2gb)", {"v1": bytes_there}) is not None
    licences = VnodeUse({"lic": "1.0"}, {}, "", alone=False)
    assert refuse("(v1:lic=2)", {"v1": licences}) == (
        "vnode v1 has lic=1.0, of which 0 are in use: there is no room for 2 more"
    )
