"""Every code has a sentence with its numbers in it, and every code is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import policy
from policy import Reason
from policy.cluster import UNLIMITED_S
from policy.reasons import CODES
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
