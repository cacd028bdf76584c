"""A victim whose requeue PBS refuses is chosen once: the next pass takes another one, and tries it again much later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.checkpoint.victims.victims_not_requeued import (
    FIRST_S,
    LONGEST_S,
    NotRequeued,
    find_counting,
    read_not_requeued,
    with_new,
    without_as_victims,
    without_their_earmarks,
)
from policy import Ledger
from policy.model.allocation import parse_exec_vnode
from policy.model.ledger_between_passes import Earmark
from tests.hooks.sample_server_statuses import NOW_S, job, server_status

START_S = NOW_S - 900


def status(**more: str) -> dict[str, str]:
    return {**job("R", 4, "workq", "alice"), "stime": str(int(START_S)), "exec_vnode": "(v1:ncpus=4)", **more}


def test_a_refusal_counts_for_its_run() -> None:
    there = server_status({"1.s": status(), "2.s": status(stime=str(int(START_S + 5)))})
    known = with_new({}, ["1.s", "gone.s"], there)
    assert known == {"1.s": NotRequeued(START_S, NOW_S)}
    data = {"1.s": [START_S, NOW_S], "2.s": [START_S, NOW_S], "3.s": [START_S, NOW_S], "4.s": None, "5.s": ["x", 1]}
    assert read_not_requeued(data, there) == known
    for times in (0, float("inf"), "many"):
        assert read_not_requeued({"1.s": [START_S, NOW_S, times]}, there) == {}
    assert read_not_requeued(data, replace(there, time_s=NOW_S - 1)) == {}


def test_the_first_refusal_counts_for_a_moment_and_each_further_one_for_twice_as_long() -> None:
    """A host that was busy once must not keep a user within quota from cores for long."""
    there, known, lengths = server_status({"1.s": status()}), dict[str, NotRequeued](), []
    for _ in range(9):
        known = with_new(known, ["1.s"], there)
        known = read_not_requeued({job: list(refusal) for job, refusal in known.items()}, there)
        until_s = known["1.s"].until_s
        assert find_counting(known, until_s - 1) == {"1.s"}
        assert not find_counting(known, until_s)
        lengths.append(until_s - there.time_s)
        there = replace(there, time_s=until_s)
    assert lengths[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
    assert lengths[-1] == LONGEST_S
    assert read_not_requeued({"1.s": list(known["1.s"])}, replace(there, time_s=there.time_s + LONGEST_S)) == {}


def test_the_run_is_no_victim_and_nothing_waits_for_it() -> None:
    there = server_status({"1.s": status(), "2.s": status()})
    jobs = without_as_victims(there, {"1.s"}).jobs
    assert (jobs["1.s"]["Rerunable"], jobs["2.s"].get("Rerunable")) == ("False", there.jobs["2.s"].get("Rerunable"))
    assert without_as_victims(there, ()) is there
    allocation = parse_exec_vnode("(v1:ncpus=4)")
    marks = {"8.s": Earmark(allocation, ("1.s",), NOW_S), "9.s": Earmark(allocation, ("2.s",), NOW_S)}
    ledger = Ledger(earmarks=marks)
    assert without_their_earmarks(ledger, ["1.s"]).earmarks.keys() == {"9.s"}
    assert without_their_earmarks(ledger, ["7.s"]) is ledger


@pytest.mark.parametrize("known", [[], ["1.s"]])
def test_without_refusals_nothing_is_copied(known: list[str]) -> None:
    there = server_status({"1.s": status()})
    assert (without_as_victims(there, known) is there) == (not known)
