"""Which backfilled runs a head's reserved time may count on; the golden stories tell when they are cut."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from policy.model.ledger_between_passes import Backfilled
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.policy.clusters import cluster, job, plan_for, run, vnode


@pytest.mark.parametrize(("repeat_s", "at_s"), [(60, 50), (49, 1000)])
def test_a_run_that_has_more_to_repeat_than_allowed_counts_with_its_full_estimate(repeat_s: float, at_s: float) -> None:
    """2 does not save, was tested to end at 50, and by its walltime ends at 1000."""
    settings = Settings(
        BackfillSettings("checkpoint", shrink_factor=0.05, shrink_threshold_s=0),
        checkpoint=CheckpointSettings(saves=False, repeat_at_most_s=repeat_s),
    )
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4")], [run("2", "alice", "v1=1", 0, 1000)])
    ledger = Ledger(backfilled={"2": Backfilled(50.0, cuttable=True)})
    assert plan_for(snapshot, settings, ledger).ledger.promises == {"3": at_s}
