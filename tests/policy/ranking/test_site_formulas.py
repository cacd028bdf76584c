"""A site's own formulas reach the starts of a pass, and nothing else has to be touched for it."""

from __future__ import annotations

from policy import Ledger, Reading, Settings, decide
from policy.model.preferences import RankWish
from policy.ranking.score_formulas import FORMULAS, Formula, check_formulas
from tests.policy.clusters import cluster, job, starts, vnode

SCARCER = FORMULAS.replaced(
    compute_memory=Formula(
        uses=("compute", "memory"),
        value=lambda left: min(left.compute / left.compute_all, left.memory_kib / left.memory_all_kib),
    )
)


def test_a_formula_of_the_site_chooses_another_vnode() -> None:
    """By the sum a is first (1 + 0.125), by the scarcer of the two it is b (0.5)."""
    readings = {"a": Reading(10, 8, 8, 1, 8), "b": Reading(10, 4, 8, 4, 8)}
    snapshot = cluster([vnode("a", 8), vnode("b", 8)], [job("1", rank=RankWish("compute+memory"))], readings=readings)
    check_formulas(SCARCER)
    assert starts(decide(snapshot, Ledger(), Settings())) == {"1": "(a:ncpus=1)"}
    assert starts(decide(snapshot, Ledger(), Settings(), SCARCER)) == {"1": "(b:ncpus=1)"}
