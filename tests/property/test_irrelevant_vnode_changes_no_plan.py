"""A vnode of a queue that no job uses changes nothing in a plan.

It does make a pass leave its shortest ways, as these do not know several sets of vnodes, hosts of several vnodes,
vnodes that go to one job, run limits or closures. All ways come to the same starts, victims, promises and reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law

from policy import Ledger, Queue, Settings, Vnode, decide
from policy.model.jobs_runs_vnodes_queues import RunLimits, Window
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.policy.clusters import with_owners
from tests.property.strategies.cluster_strategies import NOW_S, Parts
from tests.property.strategies.made_once import sampled_from
from tests.property.strategies.request_shape_strategies import contended_shapes

_OTHER = "unused"


def _vnode(name: str = "zz", **more: object) -> Vnode:
    return replace(Vnode(name, {"ncpus": 4}, queue=_OTHER), **more)  # type: ignore[arg-type]


IRRELEVANT: dict[str, Sequence[Vnode]] = {
    "of another queue": [_vnode()],
    "that comes first by name": [_vnode("aa")],
    "that goes to one job by default": [_vnode(sharing="default_excl")],
    "that goes to one job": [_vnode(sharing="force_excl")],
    "that is shared in any case": [_vnode(sharing="ignore_excl")],
    "that goes with its host": [_vnode(name, sharing="default_exclhost", host="far") for name in ("zy", "zz")],
    "that is one of two of a host": [_vnode(name, host="far") for name in ("zy", "zz")],
    "that limits its jobs": [_vnode(run_limits=RunLimits(1, 1, None))],
    "that is offline": [_vnode(usable=False, state="offline")],
    "of this queue that is offline": [_vnode(usable=False, state="offline", queue=None)],
    "without cores": [_vnode(available={"ncpus": 0})],
    "that is reserved later": [_vnode(closed=(Window(NOW_S + 20, NOW_S + 90, "reservation R9"),))],
    "of which a part is reserved": [_vnode(closed=(Window(0, NOW_S + 90, "reservation R9", (("ncpus", 2),)),))],
    "that was reserved": [_vnode(closed=(Window(0, NOW_S - 5, "reservation R9"),))],
    "on which too much is used": [_vnode(elsewhere={"ncpus": 6})],
}

SHRINKS = Settings(
    BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=50),
    checkpoint=CheckpointSettings(saves=True),
)


def _plan(parts: Parts, settings: Settings) -> object:
    """Where each job starts, what is preempted, which starts are promised, and each reason with what was tried."""
    vnodes = parts.vnodes
    waiting = with_owners(parts.jobs, vnodes)
    runs = [run._replace(job=of) for run in parts.runs for of in with_owners([run.job], vnodes)]
    plan = decide(replace(parts, jobs=tuple(waiting), runs=tuple(runs)).snapshot(), Ledger(), settings)
    starts = {start.id: start.allocation.exec_vnode() for start in plan.starts}
    estimates = [(each.id, each.at_s) for each in plan.estimates]
    return (
        starts,
        {each.id: each.beneficiary for each in plan.preempts},
        estimates,
        {
            job_id: (reason.code, [tried.code for tried in reason.tried])
            for job_id, (_, reason) in plan.reasons().items()
        },
    )


@pytest.mark.parametrize("kind", sorted(IRRELEVANT))
@settings_of_law(max_examples=max(15, settings_of_law().max_examples // len(IRRELEVANT)))
@given(contended_shapes(), sampled_from((False, False, True)))
def test_a_vnode_changes_nothing(kind: str, parts: Parts, shrinks: bool) -> None:
    settings = SHRINKS if shrinks else Settings()
    more = replace(parts, vnodes=(*parts.vnodes, *IRRELEVANT[kind]), queues=(*parts.queues, Queue(_OTHER)))
    assert _plan(more, settings) == _plan(parts, settings)
