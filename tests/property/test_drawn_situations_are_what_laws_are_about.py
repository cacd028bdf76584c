"""Whether the rarer strategies draw what their laws are about: a law that asserts nothing of any example proves
nothing. Each is drawn as often as its law is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Plan, Snapshot, decide
from tests.property.oracles.cluster_over_many_passes import live
from tests.property.oracles.priority_classes_by_hand import class_of_express
from tests.property.strategies.cluster_strategies import Parts
from tests.property.strategies.situation_strategies import Situation, crowded, plan_of
from tests.property.test_cut_for_promise_or_short_job_laws import letting_in
from tests.property.test_laws_over_time import Lively, earlier
from tests.property.test_needless_cuts import cut_in, lives
from tests.property.test_priority_class_preemption_laws import over_express_queues
from tests.property.test_quota_laws_by_resource_and_scope import SETTINGS, scoped
from tests.property.test_striping_laws import Context, idle_scenes, play

LEAST = 3


def lets_in_by_shrunk_estimate(situation: Situation) -> bool:
    plan = plan_of(situation)
    noted = [plan.ledger.backfilled.get(start.id) for start in plan.starts]
    return any(each is not None and each.cuttable for each in noted)


def preempts_beside_a_head(situation: Situation) -> bool:
    plan = plan_of(situation)
    return len(plan.ledger.earmarks) == 1 and bool(plan.estimates) and not any(s.backfilled for s in plan.starts)


def preempts_in_an_express_queue(situation: Situation) -> bool:
    express = {queue.name for queue in situation[0].queues if class_of_express(queue) is not None}
    return any(preempt.run.job.queue in express for preempt in plan_of(situation).preempts)


def preempts_by_some_quota(parts: Parts) -> bool:
    plan = decide(parts.snapshot(), Ledger(), SETTINGS)
    return any(preempt.reason.code == "preempted-quota" for preempt in plan.preempts)


def starts_what_cannot_be_preempted(parts: Parts) -> bool:
    return any(not start.job.rerunable for start in decide(parts.snapshot(), Ledger(), SETTINGS).starts)


def stripes(context: Context) -> bool:
    return any(outcome.stripe is not None for outcome in play(context)[0])


def cuts_for_a_promise(lively: Lively) -> bool:
    parts, coming, settings = lively
    cut: list[str] = []

    def watch(_snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        cut.extend(preempt.id for preempt in cut_in(plan, "cut-for-promise"))

    live(parts, settings, earlier, coming=coming, watch=watch)
    return bool(cut)


@pytest.mark.parametrize(
    ("strategy", "examples", "is_subject"),
    [
        (letting_in(), 40, lets_in_by_shrunk_estimate),
        (crowded(), 100, preempts_beside_a_head),
        (over_express_queues(), 40, preempts_in_an_express_queue),
        (scoped(), 100, preempts_by_some_quota),
        (scoped(), 100, starts_what_cannot_be_preempted),
        (idle_scenes(), 40, stripes),
        (lives(saves=False), 40, cuts_for_a_promise),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_some_of_what_is_drawn_is(
    strategy: st.SearchStrategy[Any], examples: int, is_subject: Callable[[Any], bool]
) -> None:
    found: list[bool] = []

    @settings_of_law(max_examples=examples)
    @given(strategy)
    def look(drawn: Any) -> None:
        found.append(is_subject(drawn))

    look()
    assert sum(found) >= LEAST
