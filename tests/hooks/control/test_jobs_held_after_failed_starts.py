"""Jobs that PBS holds after failed starts are named, and their reason stays true over several passes."""

from __future__ import annotations

import pytest

from hooks.control.jobs_held_after_failed_starts import name_jobs_held_after_failed_starts
from hooks.pbs.job_attributes.job_comment_format import make_comment
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, server_status, snapshot_of

REASON = "PBS holds it after too many failed attempts to run: releasing it lets it run once its host can run it"
OF_PBS = "job held, too many failed attempts to run"


@pytest.mark.parametrize("comment", [OF_PBS, make_comment(f"may not start: {REASON}", 1000.0)])
@pytest.mark.parametrize("depend", ["", "afterok:7.server@server"])
def test_a_job_that_pbs_holds_after_failed_starts_is_named_and_told_so(comment: str, depend: str) -> None:
    held = {**job("H", Hold_Types="s", comment=comment), **({"depend": depend} if depend else {})}
    seen = server_status({"12.server": held, "13.server": job()})
    assert name_jobs_held_after_failed_starts(seen) == [
        "PBS holds 1 job after too many failed attempts to run: 12; the logs of the MoMs that they were sent to say why"
    ]
    assert snapshot_of(seen, Settings()).jobs["12.server"].blocked == REASON


def test_an_array_is_told_by_its_own_comment() -> None:
    comment = "Job Array Held, too many failed attempts to run subjob 12[3].server"
    seen = server_status({"12[].server": job("H", Hold_Types="s", comment=comment)})
    assert "12[]" in name_jobs_held_after_failed_starts(seen)[0]


@pytest.mark.parametrize("texts", [{"Hold_Types": "u", "comment": OF_PBS}, {"Hold_Types": "s"}])
def test_other_holds_are_not(texts: dict[str, str]) -> None:
    seen = server_status({"12.server": {**job("H"), **texts}})
    assert name_jobs_held_after_failed_starts(seen) == []
    assert "too many" not in snapshot_of(seen, Settings()).jobs["12.server"].blocked


def test_of_many_the_first_are_shown() -> None:
    held = job("H", Hold_Types="s", comment=OF_PBS)
    (sentence,) = name_jobs_held_after_failed_starts(server_status({f"{n}.server": held for n in range(1, 10)}))
    assert "holds 9 jobs" in sentence
    assert "1, 2, 3, 4, 5 and 4 more" in sentence
