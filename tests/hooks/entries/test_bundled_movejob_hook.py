"""The bundled movejob hook: a job that is about to start is moved by managers alone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import summary_of
from tests.hooks.run_bundled_hook import Hook


@pytest.mark.parametrize(
    ("job_id", "more", "is_refused"),
    [
        ("7.server", {}, True),
        ("9[].server", {}, True),
        ("8.server", {}, False),
        ("7.server", {"requestor": "olga"}, False),
    ],
)
@pytest.mark.parametrize(
    ("unguarded", "ago_s", "may_be_refused"), [(True, 0, True), (False, 0, False), (True, 86_400, False)]
)
def test_a_job_about_to_start_unguarded_is_moved_by_managers_alone(
    hook: Hook, job_id: str, more: dict[str, Any], is_refused: bool, unguarded: bool, ago_s: int, may_be_refused: bool
) -> None:
    planned = {"7.server": "digest", "9[2].server": "digest"}
    whole = {**summary_of("drive"), "planned": planned, "unguarded": unguarded, "planned_s": time.time() - ago_s}
    hook.state.publish(SUMMARY, whole, shared=False)
    (verdict,) = hook.run("movejob", events=[{"id": job_id, **more}])["verdicts"]
    assert bool(verdict) is (is_refused and may_be_refused)
    if verdict:
        assert "the job is about to start: try again in some seconds" in verdict
