"""Long selects: equal ones are parsed once in a pass, and one user's different ones up to a bound."""

from __future__ import annotations

import pytest

from hooks.translate.job import long_selects
from hooks.translate.job.long_selects import LEFT_UNREAD, LONG, LongSelects
from hooks.translate.snapshot import Known, translate
from policy.model.job_request import DEFAULT_CONSUMABLES
from policy.model.pbs_units import SIZES
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, server_status


def long_select(number: int) -> str:
    """About 1,900 characters, different for each number."""
    return "+".join(f"1:ncpus=1:mem={number}{kib:03}kb" for kib in range(100))


def test_equal_long_selects_are_parsed_once() -> None:
    of = LongSelects()
    assert len(long_select(1)) > LONG
    first, second = (of.parse(long_select(1), "free", DEFAULT_CONSUMABLES, SIZES) for _ in range(2))
    assert first is second
    assert of.parse(long_select(1), "scatter", DEFAULT_CONSUMABLES, SIZES).place == "scatter"


def test_of_one_users_waiting_jobs_so_many_different_long_selects_are_read_and_all_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jobs with the same select, short ones, and what runs are read beyond that."""
    monkeypatch.setattr(long_selects, "MOST_OF_USER", 2 * len(long_select(1)))
    jobs = {f"{number}.s": job(Resource_List__select=long_select(number)) for number in range(1, 6)}
    jobs["6.s"] = job(Resource_List__select=long_select(2))
    jobs["7.s"] = job()
    jobs["8.s"] = job(user="bob", Resource_List__select=long_select(3))
    jobs["9.s"] = job("R", Resource_List__select=long_select(9), exec_vnode="(v1:ncpus=2)", stime="1795207000")
    status = server_status(jobs)
    snapshot = translate(status, Settings()).snapshot
    assert {name for name, each in snapshot.jobs.items() if each.blocked == LEFT_UNREAD} == {"3.s", "4.s", "5.s"}
    assert {len(snapshot.jobs[name].request.chunks) for name in ("1.s", "2.s", "6.s", "8.s")} == {100}
    assert len(snapshot.runs["9.s"].job.request.chunks) == 100


def test_a_job_that_was_left_out_is_read_once_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where unchanged jobs are remembered, as the console does."""
    monkeypatch.setattr(long_selects, "MOST_OF_USER", len(long_select(1)))
    jobs = {f"{number}.s": job(Resource_List__select=long_select(number)) for number in (1, 2)}
    known = Known()
    first = translate(server_status(jobs), Settings(), known=known).snapshot
    assert [each.blocked for each in first.jobs.values()] == ["", LEFT_UNREAD]
    later = translate(server_status({"2.s": jobs["2.s"]}), Settings(), known=known).snapshot
    assert later.jobs["2.s"].blocked == ""
