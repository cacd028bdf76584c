"""Which alterations are refused, and what is asked of the server for that."""

from __future__ import annotations

import pytest

from hooks.admission.submission.job_alteration import Alteration, refuse_alteration
from hooks.store.event_hook_summary import QueueSummary, Summary
from policy.settings.site_settings import Settings

SUMMARY = Summary(
    {"workq": QueueSummary("drive", {"ncpus": 16}, {"ncpus": 8}, hosts=2, vnodes=2)}, "workq", frozenset({"ncpus"})
)


def refuse(cores: int, *, running: bool = False, privileged: bool = False) -> tuple[str | None, list[str]]:
    """The refusal of an alteration to so many cores in one chunk, and what was asked for it, in order."""
    asked: list[str] = []

    def is_privileged() -> bool:
        asked.append("who")
        return privileged

    def reread() -> Summary:
        asked.append("vnodes")
        return SUMMARY

    changes = {"select": f"1:ncpus={cores}"}
    alteration = Alteration({"select": "1:ncpus=1"}, changes, "workq", "alice", running, is_privileged)
    return refuse_alteration(alteration, SUMMARY, Settings(), reread), asked


def test_a_users_alteration_beyond_the_largest_host_is_refused_by_the_present_vnodes() -> None:
    refusal, asked = refuse(9)
    assert refusal is not None
    assert refusal.startswith("this job can never run in queue workq")
    assert asked == ["who", "vnodes", "who"]


def test_nothing_is_refused_to_a_manager_and_no_vnode_is_looked_at_for_that() -> None:
    assert refuse(9, privileged=True) == (None, ["who"])


@pytest.mark.parametrize(("cores", "running"), [(8, False), (9, True)])
def test_nothing_is_asked_for_what_is_let_through(cores: int, running: bool) -> None:
    assert refuse(cores, running=running) == (None, [])
