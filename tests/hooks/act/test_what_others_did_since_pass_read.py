"""What owners, managers and the pass itself have changed since the server was read stands: such a job is left to the
next pass, or what is written starts from it."""

from __future__ import annotations

import pytest

from hooks.act.apply_plan import Outcome, Permissions
from hooks.pbs.job_attributes.job_altered_since_plan import ALTERED, HELD, digest_of_plan
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from tests.hooks.act.carry_out_plan import DRIVING, SAVING, carry, done, make_plan
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status
from tests.hooks.stand_in import pbs_ifl


def test_a_job_altered_before_a_start_that_no_hook_judges_waits_for_the_next_pass() -> None:
    seen = server_status({f"{number}.s": job() for number in range(2, 40)})
    since = server_status({**seen.jobs, "35.s": job(Resource_List__walltime="99:00:00")})
    plan = make_plan(seen, [(job_id, "(v1:ncpus=2)") for job_id in seen.jobs])
    digests = {job_id: digest_of_plan(texts, {}) for job_id, texts in seen.jobs.items()}
    outcome = carry(plan, seen, since=since, digests=digests)
    assert set(outcome.started) == seen.jobs.keys() - {"35.s"}
    assert (outcome.refused, outcome.failures) == (["35.s"], ["cannot start 35.s: " + ALTERED])


@pytest.mark.parametrize("state", ["H", "W"])
def test_a_job_held_before_a_start_that_no_hook_judges_does_not_start(state: str) -> None:
    """PBS starts a job that is held, or waits for a time or another job, if the start names its vnodes."""
    seen = server_status({"2.s": job(), "3.s": job()})
    plan = make_plan(seen, [(job_id, "(v1:ncpus=2)") for job_id in seen.jobs])
    digests = {job_id: digest_of_plan(texts, {}) for job_id, texts in seen.jobs.items()}
    since = server_status({**seen.jobs, "3.s": job(state, Hold_Types="u")})
    outcome = carry(plan, seen, since=since, digests=digests)
    assert (outcome.started, outcome.refused, outcome.failures) == (["2.s"], ["3.s"], ["cannot start 3.s: " + HELD])


@pytest.mark.parametrize(("read", "now"), [("n", "u"), ("u", "n")])
def test_a_victim_held_or_released_by_its_user_meanwhile_is_left_to_the_next_pass(read: str, now: str) -> None:
    """PBS writes all holds of a job at once, so the user's would be lost, or come again."""
    seen = server_status({"1.s": running() | {"Hold_Types": read}, "2.s": job()})
    since = server_status({"1.s": running() | {"Hold_Types": now}, "2.s": job()})
    advising = Permissions(preempt=DRIVING.preempt)
    assert done_to("1.s", carry(make_plan(seen, [], [("1.s", "2.s")]), seen, advising, since=since)) == []
    assert [call[0] for call in done_to("1.s", carry(make_plan(since, [], [("1.s", "2.s")]), since, advising))] == [
        "alter",
        "requeue",
    ]


def done_to(job_id: str, _: Outcome) -> list[list[str]]:
    return [call for call in done() if call[1:2] == [job_id]]


def test_a_withdrawal_stands_where_another_subjob_of_the_array_is_asked_in_the_same_pass() -> None:
    withdrawn = Mark("gone.s", "signal", int(NOW_S) - 10, int(NOW_S) + 50)
    array = {**job("B"), "array_indices_remaining": "-", MARK_KEY: show_marks({3: withdrawn})}
    seen = server_status({"1[].s": array, "1[3].s": running(), "1[4].s": running(), "2.s": job()})
    outcome = carry(make_plan(seen, [], [("1[4].s", "2.s")]), seen, settings=SAVING)
    assert (dict(outcome.withdrawn), outcome.asked) == ({"1[3].s": "beneficiary-gone"}, ["1[4].s"])
    marks = read_marks(pbs_ifl.WORLD["jobs"]["1[].s"])
    assert (marks[3].why, marks[4].how, marks[4].why) == ("beneficiary-gone", "signal", "")


def test_a_released_job_that_is_a_victim_again_is_held_again() -> None:
    """Its attributes as the pass has read them say that it is held."""
    mark = Mark("gone.s", "requeue", int(NOW_S) - 90, int(NOW_S) - 90, held=True)
    victim = running() | {"Hold_Types": "s", MARK_KEY: show_marks({None: mark})}
    seen = server_status({"1.s": victim, "2.s": job()})
    since = server_status({"1.s": {**victim, "Hold_Types": "n"}, "2.s": job()})
    outcome = carry(make_plan(seen, [], [("1.s", "2.s")]), seen, Permissions(preempt=DRIVING.preempt), since=since)
    assert (outcome.released, outcome.requeued) == (["1.s"], ["1.s"])
    assert pbs_ifl.WORLD["jobs"]["1.s"]["Hold_Types"] == "s"
    assert read_marks(pbs_ifl.WORLD["jobs"]["1.s"])[None].beneficiary == "2.s"
