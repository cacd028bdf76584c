"""What vnodes do not report although a mode in use ranks by it."""

from __future__ import annotations

import pytest

from policy import Reading, Snapshot
from policy.model.job_preferences import RankPreference
from policy.ranking.find_vnodes_missing_sensors import find_missing_sensors
from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.policy.clusters import job, queue, vnode

NOW_S = 1000
WHOLE = Reading(NOW_S, 8, 8, 1 << 20, 1 << 20, 50, 100, 40, 90)
READINGS = {
    "v1": WHOLE,
    "v2": WHOLE._replace(temperature=None, temperature_most=None),
    "v3": WHOLE._replace(network=None, temperature=None),
    "v4": WHOLE._replace(at_s=0, temperature=None),
}


@pytest.mark.parametrize(
    ("mode", "wish", "missing"),
    [
        ("none", "", {}),
        ("compute", "memory", {}),
        ("none", "stability", {"temperature": ["v2", "v3"]}),
        ("compute+network", "", {"network": ["v3"]}),
        ("composite", "", {"network": ["v3"], "temperature": ["v2", "v3"]}),
    ],
)
def test_only_what_a_mode_in_use_needs_of_vnodes_that_report(
    mode: str, wish: str, missing: dict[str, list[str]]
) -> None:
    waiting = job("1")._replace(rank=RankPreference(wish) if wish else None)
    vnodes = [vnode(name, 8) for name in (*READINGS, "v5")]
    snapshot = Snapshot.build(NOW_S, vnodes, [queue("")], [waiting], readings=READINGS)
    assert find_missing_sensors(snapshot.cluster(), RankingSettings(mode=mode), NOW_S) == missing
