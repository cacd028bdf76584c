"""Every code has a sentence with its numbers in it, and every code is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import policy
from policy import Job, Reason
from policy.cluster import UNLIMITED_S
from policy.reasons import CODES, Number
from tests.policy.clusters import job

POLICY = Path(policy.__file__).parent


def codes_in_source() -> set[str]:
    """The first argument of each ``Reason(...)`` that the policies make."""
    codes = set()
    for path in POLICY.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    codes.add(first.value)
    return codes


def test_every_code_that_is_made_has_a_sentence_and_every_sentence_a_code_that_is_made() -> None:
    assert codes_in_source() == CODES


@pytest.mark.parametrize("at_s", [160.0, 160])
def test_times_are_told_from_now(at_s: float) -> None:
    sentence = Reason("not-before", (("at_s", at_s),)).sentence(job("1"), 100)
    assert sentence == "may not start before its set time, in 60 s"


@pytest.mark.parametrize(
    ("at_s", "when"), [(50, "now"), (100, "now"), (101, "in 1 s"), (UNLIMITED_S, "at a time nobody can tell")]
)
def test_times_that_are_over_or_unknown(at_s: float, when: str) -> None:
    assert when in Reason("reserved", (("idle", 0), ("at_s", at_s))).sentence(job("1"), 100)


def test_what_belongs_to_the_job_comes_from_the_job() -> None:
    reason = Reason("too-few-idle", (("idle", 4),))
    assert reason.sentence(job("1", select="1024"), 0).startswith("needs 1,024 cores")
    assert reason.sentence(job("1", select="1"), 0).startswith("needs 1 core:")


def test_a_quota_of_another_resource_tells_what_is_asked_of_that() -> None:
    numbers = (("entity", "u:bob"), ("used", 1), ("need", 3), ("limit", 2), ("queue", "workq"))
    sentence = Reason("over-quota", numbers).sentence(job("1", select="1:ncpus=8:ngpus=3"), 0)
    assert "1 + 3 of a quota of 2" in sentence


def test_text_from_users_is_left_as_it_is() -> None:
    """Markup and control characters are the business of whoever shows it."""
    hostile = "[/red]\x1b[31m {0} %s"
    assert hostile in Reason("blocked", (("why", hostile),)).sentence(job("1"), 0)


def test_as_plain_data() -> None:
    tried = Reason("preempt-delay", (("at_s", 30.0),))
    reason = Reason("reserved", (("idle", 0), ("at_s", UNLIMITED_S)), (tried,))
    data = reason.as_json(job("1"), 10)
    assert data["code"] == "reserved"
    assert data["numbers"] == {"idle": 0, "at_s": None}
    assert data["tried"] == [
        {
            "code": "preempt-delay",
            "numbers": {"at_s": 30.0},
            "sentence": "may preempt in 20 s, if nothing ends first",
            "tried": [],
        }
    ]


def test_a_number_that_is_not_there() -> None:
    reason = Reason("too-few-idle", (("idle", 4),))
    assert reason.number("idle") == 4
    with pytest.raises(KeyError):
        reason.number("cores")


def told(code: str, numbers: dict[str, Number], of: Job | None = None) -> str:
    return Reason(code, tuple(numbers.items())).sentence(of or job("1", select="4"), 100)


def over(used: int, need: int, limit: int) -> dict[str, Number]:
    return {"entity": "u:bob", "queue": "workq", "used": used, "need": need, "limit": limit}


def base(need: int, left: int, limit: int) -> dict[str, Number]:
    return {"entity": "u:bob", "need": need, "left": left, "limit": limit}


SOON: dict[str, Number] = {"at_s": 200}


@pytest.mark.parametrize(
    ("code", "numbers", "part"),
    [
        ("over-quota", over(6, 4, 8), "workq: it may once 2 of these are given back, or with a quota of 10"),
        ("over-quota", over(2, 4, 3), "a quota of 3 in queue workq: a quota of 6 would let it"),
        ("base-class", base(4, 3, 8), "is lifted when 1 more of it is given back"),
        ("base-class", base(4, 1, 8), "is lifted when 3 more of it are given back"),
        ("base-class", base(9, 8, 8), "a quota of at least 9 would lift it"),
        (
            "server-resource",
            {"resource": "lic", "asked": 3, "left": 1},
            "is left; it starts when 2 more are given back",
        ),
        ("too-few-idle", {"idle": 1}, "1 is idle; it waits for 3 more, with no time set before it is first in line"),
        ("reserved", {"idle": 1, **SOON}, "needs 4 cores, 1 is idle; reserved to start in 100 s"),
        ("reserved", {"idle": 5, **SOON}, "5 are idle, but not as it asks for them; reserved to start in 100 s"),
    ],
)
def test_what_would_change_it(code: str, numbers: dict[str, Number], part: str) -> None:
    assert part in told(code, numbers)


@pytest.mark.parametrize(
    ("of", "subject"),
    [
        (job("1", estimate_s=600), "its estimate of 10 min passes"),
        (job("1", estimate_s=600, saved_s=300), "its remaining estimate of 5 min passes"),
        (job("1", estimate_s=UNLIMITED_S), "a run without a walltime passes"),
    ],
)
def test_what_passes_the_reservation(of: Job, subject: str) -> None:
    assert subject in told("backfill-window", {"head": "3", "at_s": 200, "beside": 1}, of)
    assert "1 core is spare" in told("backfill-window", {"head": "3", "at_s": 200, "beside": 1}, of)


def test_classes_are_told_by_their_number_and_the_lowest_by_its_name() -> None:
    numbers: dict[str, Number] = {"beneficiary": "3", "above": 7, "class": -1}
    assert told("preempted-class", numbers) == "preempted for 3, whose class 7 is above its own, base"
    assert told("preempted-class", {**numbers, "class": 0}).endswith("above its own, 0")


@pytest.mark.parametrize(
    ("left_s", "end"), [(7300, "length: 2 h 02 were left of its estimate"), (UNLIMITED_S, "length")]
)
def test_what_was_left_of_a_run_that_made_way(left_s: float, end: str) -> None:
    assert told("cut-for-rescue", {"beneficiary": "3", "left_s": left_s}).endswith(end)


@pytest.mark.parametrize(
    ("code", "name"), [("preempting", "victims"), ("behind-head", "head"), ("cut-for-promise", "beneficiary")]
)
def test_sentences_call_jobs_by_their_numbers_and_programs_get_their_ids(code: str, name: str) -> None:
    ids = "12[3].hpc1, 14.hpc1.example.org, 15"
    reason = Reason(code, ((name, ids),))
    assert "12[3], 14, 15" in reason.sentence(job("1"), 100)
    assert "hpc1" not in reason.sentence(job("1"), 100)
    assert reason.as_json(job("1"), 100)["numbers"] == {name: ids}
