"""A site's own formulas, as its settings have them, reach the starts of a pass and what is said about them."""

from __future__ import annotations

from policy import Ledger, Reading, Settings, decide
from policy.explain.job_explanation import explain
from policy.model.job_preferences import RankPreference
from tests.policy.clusters import cluster, job, starts, vnode

SCARCER = Settings.from_data({"ranking": {"formulas": {"compute+memory": "min(compute, memory)"}}}, "test")


def test_a_formula_of_the_site_chooses_another_vnode() -> None:
    """By the sum a is first (1 + 0.125), by the scarcer of the two it is b (0.5)."""
    readings = {"a": Reading(10, 8, 8, 1, 8), "b": Reading(10, 4, 8, 4, 8)}
    snapshot = cluster(
        [vnode("a", 8), vnode("b", 8)], [job("1", rank=RankPreference("compute+memory"))], readings=readings
    )
    assert starts(decide(snapshot, Ledger(), Settings())) == {"1": "(a:ncpus=1)"}
    plan = decide(snapshot, Ledger(), SCARCER)
    assert starts(plan) == {"1": "(b:ncpus=1)"}
    (why,) = [line.text for line in explain(snapshot, plan, "1", SCARCER).lines if line.label == "placement"]
    assert "S = 0.5 x U 1 = 0.5" in why


def test_they_survive_being_written_down() -> None:
    assert Settings.from_data(SCARCER.to_data(), "test") == SCARCER
    assert SCARCER.to_data() == {"ranking": {"formulas": {"compute+memory": "min(compute, memory)"}}}
