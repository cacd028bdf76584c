"""A job that PBS refuses to start is tried again in the next pass, and if it is refused again, much later."""

from __future__ import annotations

from dataclasses import replace

from hooks.control.starts_refused import (
    FIRST_S,
    LONGEST_S,
    RefusedStarts,
    keep_waiting,
    read_refused_starts,
    with_new_refusals,
)
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import translate
from policy import Ledger, Settings, decide
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, vnode

WHY = "site: project has no core-hours left"
REFUSED = {**job("Q", 8, "workq", "alice"), "comment": f"Not Running: PBS Error: {WHY}"}
OTHER = job("Q", 8, "workq", "bob")


def there_with(comment: str = REFUSED["comment"]) -> ServerStatus:
    status = server_status({"1.s": {**REFUSED, "comment": comment}, "2.s": OTHER})
    return replace(status, vnodes={"v1": vnode(8)})


def starts(status: ServerStatus, known: dict[str, RefusedStarts]) -> list[str]:
    snapshot = keep_waiting(translate(status, Settings()).snapshot, known)
    return [start.job.id for start in decide(snapshot, Ledger(), Settings()).starts]


def test_after_a_second_refusal_others_get_the_cores_until_its_time_has_come() -> None:
    status = there_with()
    assert starts(status, {"1.s": RefusedStarts(NOW_S, 1, WHY)}) == ["1.s"]
    twice = {"1.s": RefusedStarts(NOW_S, 2, WHY)}
    assert starts(status, twice) == ["2.s"]
    assert starts(replace(status, time_s=NOW_S + FIRST_S), twice) == ["1.s"]


def test_the_reason_says_what_pbs_said_and_until_when_it_waits() -> None:
    snapshot = keep_waiting(translate(there_with(), Settings()).snapshot, {"1.s": RefusedStarts(NOW_S, 3, WHY)})
    blocked = snapshot.cluster().jobs["1.s"].blocked
    assert blocked.startswith(f"PBS refused its last 3 starts ({WHY}): it is tried again at ")


def test_each_further_refusal_counts_twice_as_long() -> None:
    status, known, lengths = there_with(), dict[str, RefusedStarts](), []
    for _ in range(12):
        known = with_new_refusals(known, ["1.s"], [], status.time_s)
        known = read_refused_starts({job_id: list(each) for job_id, each in known.items()}, status)
        lengths.append(known["1.s"].until_s - status.time_s)
        status = replace(status, time_s=known["1.s"].until_s)
    assert lengths[:4] == [0, FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
    assert lengths[-1] == LONGEST_S


def test_what_pbs_said_is_kept_where_a_pass_has_written_its_own_comment() -> None:
    of_pass = there_with("Nov 20 12:00: may not start (pbsteer 2026-11-20 12:00)")
    assert read_refused_starts({"1.s": [NOW_S, 2, WHY]}, of_pass) == {"1.s": RefusedStarts(NOW_S, 2, WHY)}
    assert not read_refused_starts({"1.s": [NOW_S, 2, ""]}, of_pass)


def test_an_array_counts_without_a_reason_which_its_subjobs_have() -> None:
    array = server_status({"7[].s": {**job("Q", 1, "workq", "alice"), "array": "True"}})
    known = with_new_refusals({"7[].s": RefusedStarts(NOW_S, 1)}, ["7[1].s", "7[2].s"], [], NOW_S)
    assert known == {"7[].s": RefusedStarts(NOW_S, 2)} == read_refused_starts({"7[].s": [NOW_S, 2, ""]}, array)
    assert not with_new_refusals(known, ["7[1].s"], ["7[2].s"], NOW_S)


def test_a_job_that_has_started_or_gone_begins_anew() -> None:
    known = {"1.s": RefusedStarts(NOW_S, 5, WHY), "7[].s": RefusedStarts(NOW_S, 2, WHY)}
    assert with_new_refusals(known, [], ["1.s", "7[3].s"], NOW_S) == {}
    data = {"1.s": [NOW_S, 5, WHY], "9.s": [NOW_S, 5, WHY], "2.s": "x", "3.s": None}
    assert not read_refused_starts(data, server_status({"1.s": running()}))
    assert not read_refused_starts(data, replace(there_with(), time_s=NOW_S + 2 * LONGEST_S))
