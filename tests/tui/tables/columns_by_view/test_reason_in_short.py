"""Reasons in the few words of a cell: the number that differs comes first, and nothing is claimed that is not so."""

from __future__ import annotations

from typing import get_args

import pytest

from policy import Reason
from policy.reasons.reason_names import Numbers, ReasonCode
from tests.policy.clusters import job
from tests.tui.scripted_server import NOON_S
from tui.tables.columns_by_view.reason_in_short import group_title, in_short
from tui.text.times_and_durations import clock_time


@pytest.mark.parametrize(
    ("code", "numbers", "words"),
    [
        ("too-few-idle", (("idle", 3),), "61 short"),
        ("too-few-idle", (("idle", 80),), "no vnodes that are open have room"),
        ("fragmented", (("idle", 80),), "80 cores idle, but not as it asks for them"),
        ("behind-head", (("head", "39.hpc1"),), "behind 39"),
        ("over-quota", (("used", 10), ("limit", 20), ("entity", "u:a"), ("queue", "q")), "over quota: 10 + 64 of 20"),
        ("queue-stopped", (("queue", "workq"),), "queue workq is stopped"),
        ("hard-limit", (("limit", 70), ("used", 8), ("need", 64)), "limit: 8 + 64 of 70"),
        ("hard-limit", (("limit", 70), ("used", 8), ("need", 64), ("kept", 2)), "limit: 8 + 2 kept + 64 of 70"),
        ("reserved", (("idle", 0), ("at_s", NOON_S + 60)), f"first in line, reserved {clock_time(NOON_S + 60)}"),
        ("reserved", (("idle", 0), ("at_s", NOON_S)), "first in line, starts when its cores are free"),
        ("not-before", (("at_s", float("inf")),), "not before at an unknown time"),
        (
            "backfill-window",
            (("head", "39.hpc1"), ("at_s", NOON_S + 60), ("beside", 0)),
            f"would delay 39, reserved {clock_time(NOON_S + 60)}",
        ),
    ],
)
def test_each_has_its_own_number(code: ReasonCode, numbers: Numbers, words: str) -> None:
    assert in_short(Reason(code, numbers), job("5", "bob", "64"), NOON_S, {}) == words


def test_the_jobs_ahead_are_counted_where_that_is_known() -> None:
    assert in_short(Reason("too-few-idle", (("idle", 0),)), job("5", "bob", "64"), NOON_S, {"ahead": 1234}) == (
        "64 short, 1,234 ahead"
    )


def test_a_reason_without_a_short_form_is_its_sentence() -> None:
    reason = Reason("left-undone", (("why", "pbsteer is paused"),))
    assert in_short(reason, job("5", "bob", "64"), NOON_S, {}) == "would start now, but pbsteer is paused"


def test_every_kind_of_reason_has_a_title() -> None:
    assert all(group_title(code) and "-" not in group_title(code) for code in get_args(ReasonCode))


def test_a_job_that_is_held_or_suspended_says_no_more_than_that() -> None:
    for why in ("held by its owner", "suspended, until qsig -s resume"):
        assert in_short(Reason("blocked", (("why", f"it is {why}"),)), job("5", "bob", "64"), NOON_S, {}) == why
