"""Every code has a sentence with its numbers in it, and every code is used."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

import policy
from policy import Job, Reason
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.reasons.reason import recall
from policy.reasons.reason_names import Number, NumberName, Numbers, ReasonCode
from policy.reasons.sentence_of_each_reason import SENTENCES
from tests.policy.clusters import job

POLICY = Path(policy.__file__).parent


def codes_in_source() -> set[str]:
    """The first argument of each ``Reason(...)`` that the policies make."""
    codes = set()
    for path in POLICY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    codes.add(first.value)
    return codes


def test_a_dated_sentence_has_moments_and_no_spans() -> None:
    """Whoever reads it later reads nothing that time alone has made untrue."""
    numbers: Numbers = (("vnode", "v1"), ("stagger_s", 60), ("at_s", 150.0))
    sentence = Reason("staggered", numbers).sentence(job("1"), 100, moment=lambda at_s: f"at moment {at_s:g}")
    assert sentence == (
        "would fit now, but a stripe started on v1: jobs that share nodes start one after the other;"
        " it may start at moment 150"
    )
    assert "less than 60 s ago" in Reason("staggered", numbers).sentence(job("1"), 100)


def test_an_exclusive_job_is_told_that_it_needs_vnodes_without_other_jobs() -> None:
    exclusive = job("1", select="1", place="excl")
    assert Reason("fragmented", (("idle", 4),)).sentence(exclusive, 100) == (
        "needs 1 core: 4 are idle, but not on vnodes without other jobs (it asks for exclusive ones)"
        " in the shape it asks for"
    )


def test_every_code_that_is_made_has_a_sentence_and_every_sentence_a_code_that_is_made() -> None:
    assert codes_in_source() == set(get_args(ReasonCode)) == SENTENCES.keys()


def test_a_stored_reason_is_recalled_unless_only_another_version_knows_its_code() -> None:
    assert recall("pinned", (("vnodes", "v1"),)) == Reason("pinned", (("vnodes", "v1"),))
    assert recall("moon-phase", ()) is None


@pytest.mark.parametrize("at_s", [160.0, 160])
def test_times_are_told_from_now(at_s: float) -> None:
    sentence = Reason("not-before", (("at_s", at_s),)).sentence(job("1"), 100)
    assert sentence == "may not start before its set time, in 60 s"


@pytest.mark.parametrize(
    ("at_s", "when"),
    [
        (50, "it starts when enough"),
        (100, "it starts when enough"),
        (101, "in 1 s"),
        (UNLIMITED_S, "at an unknown time"),
    ],
)
def test_times_that_are_over_or_unknown(at_s: float, when: str) -> None:
    assert when in Reason("reserved", (("idle", 0), ("at_s", at_s))).sentence(job("1"), 100)


def test_what_belongs_to_the_job_comes_from_the_job() -> None:
    reason = Reason("too-few-idle", (("idle", 4),))
    assert reason.sentence(job("1", select="1024"), 0).startswith("needs 1,024 cores")
    assert reason.sentence(job("1", select="1"), 0).startswith("needs 1 core:")


def test_a_quota_of_another_resource_tells_what_is_asked_of_that() -> None:
    numbers: Numbers = (("entity", "u:bob"), ("used", 1), ("need", 3), ("limit", 2), ("queue", "workq"))
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
            "sentence": "may not preempt before its delay is over, in 20 s",
            "tried": [],
        }
    ]


def test_a_number_that_is_not_there() -> None:
    reason = Reason("too-few-idle", (("idle", 4),))
    assert reason.number("idle") == 4
    with pytest.raises(KeyError):
        reason.number("at_s")


def sentence_of(code: ReasonCode, numbers: dict[NumberName, Number], of: Job | None = None) -> str:
    return Reason(code, tuple(numbers.items())).sentence(of or job("1", select="4"), 100)


def over(used: int, need: int, limit: int) -> dict[NumberName, Number]:
    return {"entity": "u:bob", "queue": "workq", "used": used, "need": need, "limit": limit}


def base(need: int, left: int, limit: int) -> dict[NumberName, Number]:
    return {"entity": "u:bob", "need": need, "left": left, "limit": limit}


def at_limit(used: int, need: int, limit: int) -> dict[NumberName, Number]:
    scope: dict[NumberName, Number] = {"scope": "the server", "entity": "u:bob", "what": "running jobs"}
    return {**scope, "used": used, "need": need, "limit": limit}


SOON: dict[NumberName, Number] = {"at_s": 200}


@pytest.mark.parametrize(
    ("code", "numbers", "part"),
    [
        ("over-quota", over(6, 4, 8), "within it once 2 of these are given back, or with a quota of 10, if no other"),
        ("over-quota", over(2, 4, 3), "a quota of 3 in queue workq: within it with a quota of 6, if no other job"),
        ("over-quota", {**over(6, 4, 8), "going": 5}, "or with a quota of 15, if no other job takes that first"),
        ("base-class", base(4, 3, 8), "3 are left of the priority quota of 8 of u:bob after the jobs in line"),
        (
            "base-class",
            {**base(4, 3, 8), "held": 5, "lifts_at": 9},
            "of at least 9 lifts it, or 1 of the 5 in use given",
        ),
        ("base-class", {**base(9, 8, 8), "held": 0, "lifts_at": 9}, "in line: a quota of at least 9 lifts it"),
        ("server-resource", {"resource": "lic", "asked": 3, "left": 1}, "1 is left, and it waits for 2 more"),
        (
            "server-resource",
            {"resource": "lic", "asked": 3, "left": 1, "short": 2},
            "1 is left, and 2 would be lacking with all jobs ended too: it waits for the server to have more, or for",
        ),
        (
            "hard-limit",
            at_limit(2, 1, 2),
            "2 running jobs: 2 are in use, and it needs 1: it waits for 1 of these to be",
        ),
        ("hard-limit", {**at_limit(0, 5, 4), "what": "mem"}, "allows u:bob 4 kb of mem: 0 are in use, and it needs 5"),
        ("over-quota", {**over(2, 4, 3), "counted": "mem"}, "u:bob would use 2 + 4 of a quota of 3 kb of mem in queue"),
        ("server-resource", {"resource": "mem", "asked": 3, "left": 1}, "3 kb of mem of the server: 1 is left"),
        ("over-quota", {**over(2, 4, 3), "counted": "scratch", "unit": "kb"}, "2 + 4 of a quota of 3 kb of scratch in"),
        ("base-class", {**base(4, 3, 8), "counted": "scratch", "unit": "kb"}, "needs 4 kb of scratch, and 3 are left"),
        ("hard-limit", at_limit(2, 1, 2), "given back, or for a limit of 3"),
        ("hard-limit", at_limit(0, 5, 4), "it waits for a limit of 5"),
        (
            "queue-unknown",
            {"queue": "rt", "destinations": "workq, big", "stopped": True},
            "queue rt routes its jobs to workq, big, and is stopped: it moves no jobs until the queue is started",
        ),
        (
            "queue-unknown",
            {"queue": "rt", "destinations": "workq", "stopped": False},
            "queue rt routes its jobs to workq: PBS moves the job once one of these takes it",
        ),
        (
            "hard-limit",
            {**at_limit(1, 1, 2), "kept": 1, "kept_for": "12.s"},
            "1 is in use, 1 kept for 12, which comes first, and it needs 1: it waits for 1 of these to be given back,"
            " or for a limit of 3",
        ),
        (
            "hard-limit",
            {**at_limit(0, 1, 6), "kept": 6, "kept_for": "12.s, 14.s, 15.s", "kept_more": 2},
            "0 are in use, 6 kept for 12, 14, 15 and 2 more, which come first, and it needs 1: it waits for 1 of these",
        ),
        (
            "server-resource",
            {"resource": "lic", "asked": 2, "left": 4, "kept": 3, "kept_for": "12.s"},
            "2 lic of the server: 4 are left, 3 kept for 12, which comes first, and it waits for 1 more",
        ),
        ("too-few-idle", {"idle": 1}, "needs 4 cores: 1 is idle; a start time is set for the first in line only"),
        ("too-few-idle", {"idle": 1, "ahead": 1200}, "needs 4 cores: 1 is idle; jobs ahead of it: 1,200; a start"),
        (
            "too-few-idle",
            {"idle": 0, "ahead": 1, "kept_by": "reservation R1", "kept_more": 0, "kept_until_s": 200},
            "0 are idle; reservation R1 keeps some vnodes of its queue, and is over in 100 s; jobs ahead",
        ),
        (
            "fragmented",
            {"idle": 5, "ahead": 1, "kept_by": "reservation R1", "kept_more": 2, "kept_until_s": 70},
            "in the shape it asks for; reservation R1 and 2 more keep some vnodes of its queue; jobs ahead",
        ),
        ("fragmented", {"idle": 5, "ahead": 0}, "but not on vnodes in the shape it asks for; jobs ahead of it: 0"),
        (
            "no-victims",
            {"idle": 1, "preemptible": 2},
            "at most 2 cores may be taken from those over quota, and with the 1",
        ),
        ("no-victims", {"idle": 1, "preemptible": 3}, "no choice of whole runs was found that leaves it room"),
        (
            "preempt-delay",
            {**SOON, "cores_there": 4},
            "may preempt in 100 s, if the runs whose cores it could take now",
        ),
        (
            "exempt-victims",
            {**SOON, "enough_s": 250},
            "it can in 2 min, if they, and what is idle beside them, are still there",
        ),
        ("preempt-delays-head", {"before_s": 200}, "line; with a walltime of at most 00:01:40 it would not"),
        ("preempt-delays-head", {"before_s": 90}, "would delay the job first in line"),
        ("reserved", {"idle": 1, **SOON}, "needs 4 cores, 1 is idle; reserved to start in 100 s"),
        ("reserved", {"idle": 1, "at_s": 90}, "1 is idle; it starts when enough running jobs have ended"),
        (
            "held-elsewhere",
            {"what": "mem=8kb", "vnode": "v1", "others": 1},
            "waits for what is held on vnode v1 (mem=8kb) and on 1 other vnode by jobs that pbsteer does not see",
        ),
        ("reserved", {"idle": 5, **SOON}, "5 are idle, but not as it asks for them; reserved to start in 100 s"),
    ],
)
def test_what_would_change_it(code: ReasonCode, numbers: dict[NumberName, Number], part: str) -> None:
    assert part in sentence_of(code, numbers)


PASSES: dict[NumberName, Number] = {"head": "3", "at_s": 200, "before_s": 190, "beside": 2}


@pytest.mark.parametrize(
    ("numbers", "of", "begins"),
    [
        (
            {**PASSES, "only_head": 1},
            job("1", select="1:ncpus=4"),
            "a walltime of at most 00:01:30 would let it start now",
        ),
        (
            {**PASSES, "only_head": 1, "fewer": 2},
            job("1", select="4"),
            "a walltime of at most 00:01:30 or at most 2 cores",
        ),
        ({**PASSES, "only_head": 1, "fewer": 0}, job("1", select="4"), "a walltime of at most 00:01:30 would let it"),
        (
            {**PASSES, "only_head": 1, "fewer": 2},
            job("1", select="1:ncpus=4"),
            "a walltime of at most 00:01:30 would let",
        ),
        ({**PASSES, "only_head": 1, "before_s": 90}, job("1", select="4"), "would fit now, but its estimate"),
        (
            {**PASSES, "only_head": 1},
            job("1", saved_s=30),
            "a walltime of at most 00:01:30 would let it start now",
        ),
        (PASSES, job("1", select="4"), "would fit now, but its estimate"),
    ],
)
def test_what_lets_a_job_start_beside_a_reservation(numbers: dict[NumberName, Number], of: Job, begins: str) -> None:
    """Fewer cores only where counting decides and some are spare, a walltime only as long as there is time."""
    assert sentence_of("backfill-window", numbers, of).startswith(begins)


def test_a_walltime_that_delays_no_head_is_a_whole_one_as_saved_work_is_not_proven() -> None:
    text = sentence_of("preempt-delays-head", {"before_s": 200}, job("1", estimate_s=600, saved_s=590))
    assert text.endswith("; with a walltime of at most 00:01:40 it would not")


def test_what_is_known_beside_a_reservation_of_pbs() -> None:
    assert sentence_of("backfill-window", PASSES).endswith(": a walltime of at most 00:01:30 ends before it")


@pytest.mark.parametrize(
    ("of", "subject"),
    [
        (job("1", estimate_s=600), "its estimate of 10 min passes"),
        (job("1", estimate_s=600, saved_s=300), "its remaining estimate of 5 min passes"),
        (job("1", estimate_s=600, saved_s=590), "its whole estimate of 10 min (it could not be cut) passes"),
        (job("1", estimate_s=UNLIMITED_S), "a run without a walltime passes"),
    ],
)
def test_what_passes_the_reservation(of: Job, subject: str) -> None:
    numbers: dict[NumberName, Number] = {"head": "3", "at_s": 200, "before_s": 200, "beside": 1}
    assert subject in sentence_of("backfill-window", numbers, of)
    assert "1 core is spare" in sentence_of("backfill-window", {"head": "3", "at_s": 200, "beside": 1}, of)


def test_classes_are_reported_by_their_number_and_the_lowest_by_its_name() -> None:
    numbers: dict[NumberName, Number] = {"beneficiary": "3", "above": 7, "class": -1}
    assert sentence_of("preempted-class", numbers) == "preempted for 3, whose class 7 is above its own, base"
    assert sentence_of("preempted-class", {**numbers, "class": 0}).endswith("above its own, 0")


@pytest.mark.parametrize(
    ("left_s", "end"), [(7300, "length: 2 h 02 were left of its estimate"), (UNLIMITED_S, "length")]
)
def test_what_was_left_of_a_run_that_made_way(left_s: float, end: str) -> None:
    assert sentence_of("cut-for-rescue", {"beneficiary": "3", "left_s": left_s}).endswith(end)


@pytest.mark.parametrize(
    ("code", "name"), [("preempting", "victims"), ("behind-head", "head"), ("cut-for-promise", "beneficiary")]
)
def test_sentences_call_jobs_by_their_numbers_and_programs_get_their_ids(code: ReasonCode, name: NumberName) -> None:
    ids = "12[3].hpc1, 14.hpc1.example.org, 15"
    reason = Reason(code, ((name, ids),))
    assert "12[3], 14, 15" in reason.sentence(job("1"), 100)
    assert "hpc1" not in reason.sentence(job("1"), 100)
    assert reason.as_json(job("1"), 100)["numbers"] == {name: ids}
