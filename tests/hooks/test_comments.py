"""Which jobs' comments a pass writes: those next in the order first, and everybody's in the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.comments import find_comments
from hooks.picture import Picture
from policy.ledger import Ledger
from policy.plan import Plan, Waits
from policy.reasons import Reason
from policy.settings import PassSettings, Settings
from tests.hooks.pictures import NOW_S, job, picture, snapshot_of

REASON = Reason("too-few-idle", (("idle", 0),))
QUEUES = {"workq"}


def waiting(count: int, queue: str = "workq") -> dict[str, dict[str, str]]:
    """Jobs whose order is not that of the picture: the last has the highest priority."""
    return {f"{number}.s": job(Priority=str(number), queue=queue) for number in range(1, count + 1)}


def plan_of(seen: Picture, ledger: Ledger | None = None, classes: dict[str, int] | None = None) -> Plan:
    snapshot = snapshot_of(seen, Settings())
    waits = Waits({REASON: list(snapshot.jobs.values())})
    return Plan(seen.time_s, (), (), (), waits, ledger or Ledger(), snapshot, classes=classes)


def commented(plan: Plan, seen: Picture, most: int, interval_s: int = 15) -> list[str]:
    settings = Settings(schedule=PassSettings(interval_s=interval_s, max_comments=most))
    return [job_id for job_id, _ in find_comments(plan, seen, QUEUES, settings)]


@pytest.mark.parametrize("most", [0, 1, 3, 8, 20, 99])
def test_so_many_and_each_once(most: int) -> None:
    seen = picture(waiting(20))
    found = commented(plan_of(seen), seen, most)
    assert len(found) == len(set(found)) == min(most, 20)


def test_most_go_to_those_next_in_the_order() -> None:
    seen = picture(waiting(20))
    assert commented(plan_of(seen), seen, 8)[:6] == [f"{number}.s" for number in range(20, 14, -1)]


def test_a_promise_goes_before_a_class_and_that_before_the_order() -> None:
    seen = picture(waiting(20))
    ledger = Ledger(promises={"2.s": NOW_S + 60})
    assert commented(plan_of(seen, ledger, {"3.s": 7}), seen, 4)[:3] == ["2.s", "3.s", "20.s"]


def test_other_queues_are_left_alone() -> None:
    seen = picture(waiting(5, queue="other"))
    assert commented(plan_of(seen), seen, 99) == []


def test_everybody_has_a_turn_though_the_comments_of_the_first_change_in_each_pass() -> None:
    jobs = waiting(50)
    seen_by_turns: set[str] = set()
    for number in range(60):
        seen = replace(picture(jobs), time_s=NOW_S + 15 * number)
        seen_by_turns.update(commented(plan_of(seen), seen, 4))
    assert seen_by_turns == set(jobs)


def test_what_still_holds_is_passed_over() -> None:
    seen = picture(waiting(6))
    plan = plan_of(seen)
    written = dict(find_comments(plan, seen, QUEUES, Settings(schedule=PassSettings(max_comments=3))))
    again = picture({job_id: {**texts, "comment": written.get(job_id, "")} for job_id, texts in seen.jobs.items()})
    assert len(written) == 3
    assert set(commented(plan_of(again), again, 99)) == seen.jobs.keys() - written.keys()


def test_a_place_in_line_that_moves_writes_no_comment_anew() -> None:
    """Each start moves all that wait: a comment follows at its next renewal, not in the same pass."""
    seen = picture(waiting(6))
    written = dict(find_comments(plan_of(seen), seen, QUEUES, Settings()))
    assert [comment.split(";")[1] for comment in written.values()] == [f" jobs ahead of it: {n}" for n in range(6)]
    left = {job_id: {**texts, "comment": written[job_id]} for job_id, texts in seen.jobs.items() if job_id != "6.s"}
    assert commented(plan_of(picture(left)), picture(left), 99) == []


def test_what_matters_is_in_the_part_that_qstat_shows() -> None:
    """``qstat -s`` shows 70 characters of a longer comment."""
    seen = picture(waiting(3))
    shown = [comment[:70] for _, comment in find_comments(plan_of(seen), seen, QUEUES, Settings())]
    assert shown[2].startswith("needs 2 cores: 0 are idle; jobs ahead of it: 2;")
