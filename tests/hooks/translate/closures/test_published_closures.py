"""The closures that a pass publishes are those that a reader of its file gets."""

from __future__ import annotations

import json

import pytest

from hooks.translate.closures.published_closures import closed_from_data, closed_to_data
from policy.model.jobs_runs_vnodes_queues import CROSSING, UNLIMITED_S, Queue, Window

DEDICATED = (Window(10.0, 20.0, "dedicated time"), Window(30.0, UNLIMITED_S, "dedicated time"))
NON_PRIME = (Window(0.0, 50.0, "non-prime time", closed_to=CROSSING, past_end_s=60.0),)


def test_windows_survive_being_published() -> None:
    queues = [Queue("workq", closed=DEDICATED), Queue("p_short", closed=NON_PRIME), Queue("open")]
    data = json.loads(json.dumps(closed_to_data(queues), allow_nan=False))
    assert closed_from_data(data) == {"workq": DEDICATED, "p_short": NON_PRIME}


@pytest.mark.parametrize("data", [None, [], "x", {"workq": 1}, {"workq": [[1, 2]]}, {"workq": [["x", 2, "", "", 0]]}])
def test_other_data_says_that_the_closures_are_unknown(data: object) -> None:
    assert closed_from_data(data) is None
