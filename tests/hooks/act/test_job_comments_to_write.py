"""Which jobs' comments a pass writes: those next in the order first, and all of them in the end."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hooks.act.job_comments_to_write import find_comments
from hooks.pbs.job_attributes.job_comment_format import show_moment
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.allocation import parse_exec_vnode
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan, Start, Waits
from policy.reasons.reason import Reason
from policy.reasons.reason_names import MoreNumbers, Number, NumberName, Numbers
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, server_status, snapshot_of

REASON = Reason("too-few-idle", (("idle", 0),))
QUEUES = {"workq"}


def waiting(count: int, queue: str = "workq") -> dict[str, dict[str, str]]:
    """Jobs whose order is not that of the picture: the last has the highest priority."""
    return {f"{number}.s": job(Priority=str(number), queue=queue) for number in range(1, count + 1)}


def plan_of(seen: ServerStatus, ledger: Ledger | None = None, classes: dict[str, int] | None = None) -> Plan:
    snapshot = snapshot_of(seen, Settings())
    waits = Waits({REASON: list(snapshot.jobs.values())})
    return Plan(seen.time_s, (), (), (), waits, ledger or Ledger(), snapshot, classes=classes)


def commented(plan: Plan, seen: ServerStatus, most: int, interval_s: int = 15) -> list[str]:
    settings = Settings(schedule=ScheduleSettings(interval_s=interval_s, max_comments=most))
    return [job_id for job_id, _ in find_comments(plan, seen, QUEUES, settings)]


@pytest.mark.parametrize("most", [0, 1, 3, 8, 20, 99])
def test_so_many_and_each_once(most: int) -> None:
    seen = server_status(waiting(20))
    found = commented(plan_of(seen), seen, most)
    assert len(found) == len(set(found)) == min(most, 20)


def test_most_go_to_those_next_in_the_order() -> None:
    seen = server_status(waiting(20))
    assert commented(plan_of(seen), seen, 8)[:6] == [f"{number}.s" for number in range(20, 14, -1)]


def test_a_promise_goes_before_a_class_and_that_before_the_order() -> None:
    seen = server_status(waiting(20))
    ledger = Ledger(promises={"2.s": NOW_S + 60})
    assert commented(plan_of(seen, ledger, {"3.s": 7}), seen, 4)[:3] == ["2.s", "3.s", "20.s"]


def test_other_queues_are_left_alone() -> None:
    seen = server_status(waiting(5, queue="other"))
    assert commented(plan_of(seen), seen, 99) == []


def test_everybody_has_a_turn_though_the_comments_of_the_first_change_in_each_pass() -> None:
    jobs = waiting(50)
    seen_by_turns: set[str] = set()
    for number in range(60):
        seen = replace(server_status(jobs), time_s=NOW_S + 15 * number)
        seen_by_turns.update(commented(plan_of(seen), seen, 4))
    assert seen_by_turns == set(jobs)


def test_what_still_holds_is_passed_over() -> None:
    seen = server_status(waiting(6))
    plan = plan_of(seen)
    written = dict(find_comments(plan, seen, QUEUES, Settings(schedule=ScheduleSettings(max_comments=3))))
    again = server_status(
        {job_id: {**texts, "comment": written.get(job_id, "")} for job_id, texts in seen.jobs.items()}
    )
    assert len(written) == 3
    assert set(commented(plan_of(again), again, 99)) == seen.jobs.keys() - written.keys()


def written_before(seen: ServerStatus, age_s: float, plan: Plan | None = None, drop: str = "6.s") -> ServerStatus:
    """The same jobs but for one, with the comments that a pass wrote so long ago."""
    plan = plan or plan_of(seen)
    written = dict(find_comments(plan._replace(time_s=NOW_S - age_s), seen, QUEUES, Settings()))
    return server_status(
        {job_id: {**texts, "comment": written.get(job_id, "")} for job_id, texts in seen.jobs.items() if job_id != drop}
    )


def all_but_one(plan: Plan) -> list[Job]:
    return [each for each in plan.started.jobs.values() if each.id != "6.s"]


def test_a_place_in_line_that_moves_writes_no_comment_anew() -> None:
    """Each start moves all that wait: a comment follows once it is old, not in the same pass."""
    seen = server_status(waiting(6))
    written = dict(find_comments(plan_of(seen), seen, QUEUES, Settings()))
    assert [comment.split(";")[1] for comment in written.values()] == [f" jobs ahead of it: {n}" for n in range(6)]
    left = written_before(seen, 0)
    assert commented(plan_of(left), left, 99) == []


def test_counts_in_comments_are_renewed_once_old_the_oldest_first() -> None:
    left = written_before(server_status(waiting(12)), 300, drop="12.s")
    older = written_before(server_status(waiting(12)), 900, drop="12.s")
    mixed = server_status({**left.jobs, "3.s": older.jobs["3.s"], "5.s": older.jobs["5.s"]})
    assert set(commented(plan_of(mixed), mixed, 8)) == {"3.s", "5.s"}
    assert len(commented(plan_of(mixed), mixed, 99)) == 11


def test_a_comment_with_another_limit_is_renewed_at_once_before_counts() -> None:
    """Limits, job ids and times are no counts that move by themselves."""
    seen = server_status(waiting(6))
    ours = plan_of(seen)

    def over(limit: int) -> Plan:
        numbers: Numbers = (
            ("entity", "u:alice"),
            ("used", 4),
            ("limit", limit),
            ("counted", "ncpus"),
            ("queue", "workq"),
        )
        reason = Reason("unpreemptible", (("why", "it may not be rerun"), *numbers))
        return ours._replace(waits=Waits({reason: all_but_one(ours)}))

    left = written_before(seen, 0, over(4))
    assert commented(over(4), left, 99) == []
    assert len(commented(over(6), left, 99)) == 5


@pytest.mark.parametrize("other", [{"head": "11.s"}, {"at_s": NOW_S + 7200.0, "before_s": NOW_S + 7200.0}])
def test_a_comment_that_names_another_head_or_time_is_renewed_at_once(other: dict[NumberName, Number]) -> None:
    seen = server_status(waiting(6))
    ours = plan_of(seen)

    def behind(changed: MoreNumbers) -> Plan:
        at_s = NOW_S + 600.0
        numbers: dict[NumberName, Number] = {"head": "10.s", "at_s": at_s, "before_s": at_s}
        numbers.update({"beside": 2, "fewer": 2, "only_head": 1})
        numbers.update(changed.items())
        return ours._replace(waits=Waits({Reason("backfill-window", tuple(numbers.items())): all_but_one(ours)}))

    left = written_before(seen, 0, behind({}))
    assert commented(behind({"beside": 3, "fewer": 3}), left, 99) == []
    assert len(commented(behind(other), left, 99)) == 5


def test_nothing_in_a_comment_goes_stale_with_time_alone() -> None:
    """Written now and a minute later the sentence is the same: it names moments, and no walltime for this instant."""
    seen = server_status(waiting(2))
    at_s = NOW_S + 600.0
    numbers: Numbers = (
        ("head", "10.s"),
        ("at_s", at_s),
        ("before_s", at_s),
        ("beside", 2),
        ("fewer", 2),
        ("only_head", 1),
    )
    plan = plan_of(seen)._replace(
        waits=Waits({Reason("backfill-window", numbers): list(plan_of(seen).started.jobs.values())})
    )
    (now, *_), (later, *_) = (
        [comment for _, comment in find_comments(plan._replace(time_s=NOW_S + ago_s), seen, QUEUES, Settings())]
        for ago_s in (0, 60)
    )
    assert now.split(": ", 1)[1].split(" (pbsteer")[0] == later.split(": ", 1)[1].split(" (pbsteer")[0]
    assert show_moment(at_s, NOW_S) in now
    assert "walltime of at most" not in now
    assert "now" not in now


def test_a_moment_of_another_day_names_the_day_and_of_another_year_the_year() -> None:
    assert re.fullmatch(r"at \d\d:\d\d", show_moment(NOW_S + 1, NOW_S))
    assert re.fullmatch(r"on [A-Z][a-z][a-z] \d\d at \d\d:\d\d", show_moment(NOW_S + 90_000, NOW_S))
    assert re.fullmatch(r"on [A-Z][a-z][a-z] \d\d \d{4} at \d\d:\d\d", show_moment(NOW_S + 400 * 86_400, NOW_S))


def test_in_a_pause_every_waiting_job_is_told_so_and_those_that_would_start_first() -> None:
    seen = server_status(waiting(3))
    plan = plan_of(seen)
    starts = tuple(Start("1.s", plan.started.jobs["1.s"], parse_exec_vnode("(v1:ncpus=2)")) for _ in range(2))
    rest = Waits({REASON: [plan.started.jobs["2.s"], plan.started.jobs["3.s"]]})
    paused = "pbsteer is paused (water in row 4)"
    told = dict(find_comments(plan._replace(starts=starts, waits=rest), seen, QUEUES, Settings(), paused))
    assert list(told) == ["1.s", "3.s", "2.s"]
    assert f": would start now, but {paused} (pbsteer" in told["1.s"]
    assert f": {paused}; needs 2 cores: 0 are idle" in told["2.s"]


def test_what_matters_is_in_the_part_that_qstat_shows() -> None:
    """``qstat -s`` shows 70 characters of a longer comment."""
    seen = server_status(waiting(3))
    shown = [comment[:70] for _, comment in find_comments(plan_of(seen), seen, QUEUES, Settings())]
    assert re.match(r"[A-Z][a-z]{2} \d\d \d\d:\d\d: needs 2 cores: 0 are idle; jobs ahead of it: 2;", shown[2])
