"""An alteration comes too late once a start is decided that no hook judges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.admission.submission.job_about_to_start import refuse_before_start
from hooks.store.event_hook_summary import NOTHING_KNOWN, Summary

DECIDED_S = 1000.0
STARTING = replace(NOTHING_KNOWN, planned={"7.server": "a", "9[3].server": "b"}, planned_s=DECIDED_S, unguarded=True)


@pytest.mark.parametrize(
    ("job_id", "summary", "after_s", "refused"),
    [
        ("7.server", STARTING, 3.0, True),
        ("9[].server", STARTING, 3.0, True),
        ("8.server", STARTING, 3.0, False),
        ("8[].server", STARTING, 3.0, False),
        ("7.server", STARTING, 59.0, True),
        ("7.server", STARTING, 61.0, False),
        ("7.server", STARTING, -1.0, False),
        ("7.server", replace(STARTING, unguarded=False), 3.0, False),
    ],
)
def test_only_the_jobs_of_a_pass_that_may_still_act_are_kept_as_they_are(
    job_id: str, summary: Summary, after_s: float, refused: bool
) -> None:
    assert (refuse_before_start(job_id, summary, DECIDED_S + after_s, 10.0) is not None) is refused
