"""Jobs of which one is to run: who they are, by what PBS has told each of them so far, and how many may start."""

from __future__ import annotations

import random

import pytest

from hooks.translate.job.runone import Alternatives, find_alternatives
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, server_status, snapshot_of

BOUNDS = SubmissionSettings()


def among(depend: dict[str, str], **states: str) -> Alternatives:
    """Jobs 1 to 9 of a server ``s``, by what is said of each; states by ``j1`` and so on."""
    jobs = {
        f"{number}.s": {
            "job_state": states.get(f"j{number}", "Q"),
            **({"depend": depend[str(number)]} if str(number) in depend else {}),
        }
        for number in range(1, 10)
    }
    return find_alternatives(jobs, BOUNDS)


def runone(others: str) -> str:
    return "runone:" + ":".join(f"{other}.s@s" for other in others.split())


def names(found: Alternatives) -> dict[str, str]:
    """Each job that is an alternative, and what it asks for."""
    return dict(found.licences)


def test_without_any_there_is_nothing_to_count() -> None:
    found = among({"1": "after:2.s@s", "3": "runone:"})
    assert (names(found), found.left) == ({}, {})


def test_those_that_name_each_other_are_one_group_called_by_its_first() -> None:
    found = among({"2": runone("3 9"), "3": runone("2 9"), "9": f"after:1.s@s,{runone('2 3')}"})
    assert names(found) == dict.fromkeys(("2.s", "3.s", "9.s"), "one of 2.s and 2 others")
    assert found.left == {"one of 2.s and 2 others": 1}


def test_two_groups_are_two() -> None:
    found = among({"1": runone("2"), "2": runone("1"), "3": runone("4 5"), "4": runone("3 5"), "5": runone("3 4")})
    assert found.left == {"one of 1.s and 1 other": 1, "one of 3.s and 2 others": 1}


@pytest.mark.parametrize(
    "depend",
    [
        {"1": runone("2 3"), "2": runone("1")},
        {"3": runone("1"), "2": runone("1")},
        {"1": runone("2"), "2": runone("3")},
        {"2": runone("1 3")},
    ],
)
def test_they_are_one_group_while_not_all_know_of_each_other_yet(depend: dict[str, str]) -> None:
    found = among(depend)
    assert names(found) == dict.fromkeys(("1.s", "2.s", "3.s"), "one of 1.s and 2 others")
    waiting = {f"{n}.s": {**job(), "depend": depend.get(str(n), "after:9.s@s")} for n in (1, 2, 3)}
    plan = decide(snapshot_of(server_status(waiting), Settings()), Ledger(), Settings())
    assert [start.id for start in plan.starts] == ["1.s"]


@pytest.mark.parametrize("state", ["R", "E", "S", "B"])
def test_where_one_has_begun_no_other_starts(state: str) -> None:
    """Also where the one that runs is known by its own text alone."""
    for depend in ({"1": runone("2"), "2": runone("1")}, {"2": runone("1")}, {"1": runone("2")}):
        found = among(depend, j2=state)
        assert found.left == {"one of 1.s and 1 other": 0}
        assert names(found) == {"1.s": "one of 1.s and 1 other"}, "who has begun goes on"


def test_one_that_is_gone_keeps_nobody() -> None:
    assert among({"1": runone("77")}).left == {"one of 1.s and 1 other": 1}


def test_only_jobs_of_one_owner_are_alternatives() -> None:
    """Whoever names others' jobs binds none of them, nor do two who name the same job that is gone."""
    jobs = {
        "1.s": {"job_state": "R", "Job_Owner": "bob@h"},
        "2.s": {"job_state": "Q", "Job_Owner": "alice@h", "depend": runone("1 3 4")},
        "3.s": {"job_state": "Q", "Job_Owner": "bob@h", "depend": runone("77")},
        "4.s": {"job_state": "Q", "Job_Owner": "alice@login", "depend": runone("77")},
    }
    for order in (list(jobs), list(reversed(jobs))):
        found = find_alternatives({each: jobs[each] for each in order}, BOUNDS)
        groups = {each: name for each, name in names(found).items() if each in jobs}
        both = "one of 2.s and 2 others"
        assert groups == {"2.s": both, "4.s": both, "3.s": "one of 3.s and 1 other"}
        assert set(found.left.values()) == {1}


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_those_of_a_search_from_each_job_in_any_order(seed: int) -> None:
    draw = random.Random(seed)
    ids = [f"{number}.s" for number in range(40)]
    named = {mine: draw.sample(ids, draw.choice([1, 1, 2, 3])) for mine in draw.sample(ids, 22)}
    known: dict[str, set[str]] = {each: {each} for each in ids}
    for mine, others in named.items():
        for other in others:
            known[mine].add(other)
            known[other].add(mine)

    def reached(start: str) -> frozenset[str]:
        found, ahead = {start}, [start]
        while ahead:
            new = known[ahead.pop()] - found
            found |= new
            ahead += new
        return frozenset(found)

    order = draw.sample(ids, len(ids))
    jobs = {
        mine: {
            "job_state": "Q",
            **({"depend": "runone:" + ":".join(f"{o}@s" for o in named[mine])} if mine in named else {}),
        }
        for mine in order
    }
    found = find_alternatives(jobs, BOUNDS)
    by_name: dict[str, set[str]] = {}
    for each, name in names(found).items():
        by_name.setdefault(name, set()).add(each)
    expected = {reached(each) for each in ids if len(reached(each)) > 1}
    assert {frozenset(group) for group in by_name.values()} == expected
    assert found.left == dict.fromkeys(by_name, 1)
