"""No text in an attribute of a job, a reservation or a vnode fails a pass, makes what it leaves for the next one
unreadable, or ends ``status`` or ``explain``: a job that cannot be read waits with its reason, and the others go on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hooks.entries.periodic import run_pass
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import LEDGER, OBSERVED_LEDGER, State
from policy import Ledger, Settings, decide
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from tests.hooks.sample_server_statuses import RESOURCES, job, queue, running, server_status, snapshot_of, vnode
from tests.hooks.stand_in import pbs_ifl
from tests.property.strategies.hostile_text_strategies import OF_JOB, OF_RESERVATION, OF_VNODE, changes
from tests.property.strategies.settings_strategies import all_settings
from tui.pages.cluster.status_command_data_and_text import status_data, status_lines
from tui.pages.job.job_explanation import explanation_data
from tui.pages.job.job_page import job_lines
from tui.state.cluster_view import see

QUOTAS: tuple[dict[str, str], ...] = (
    {},
    {"max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8]", "max_run_res_soft.user_priority": "[u:alice=1],[u:bob=5]"},
    {"max_run_res_soft.ncpus": "[o:PBS_ALL=6],[u:PBS_GENERIC=2]", "max_run_soft": "[g:chem=2]"},
    {"max_run_res.ncpus": "[u:PBS_GENERIC=3]", "max_run": "[p:PBS_GENERIC=2]"},
)
LONGEST_TEXT = 100_000


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, dict[str, str]]:
    """Waiting and running jobs and arrays of three users, each with some texts that it should not have."""
    made: dict[str, dict[str, str]] = {}
    for number in range(1, draw(st.integers(3, 10))):
        cores, user = draw(st.sampled_from((1, 2, 4, 8, 16))), draw(st.sampled_from(("alice", "bob", "carol")))
        kind = draw(st.sampled_from(("waits", "waits", "runs", "array")))
        odd = changes(OF_JOB, 0, 3)
        if kind == "waits":
            made[f"{number}.s"] = {**job(cores=cores, user=user), **draw(odd)}
        elif kind == "runs":
            made[f"{number}.s"] = {
                **running(min(cores, 4), draw(st.sampled_from(("v1", "v2")))),
                "euser": user,
                **draw(odd),
            }
        else:
            made[f"{number}[].s"] = {**job("B", min(cores, 2), user=user, array_indices_remaining="2-4"), **draw(odd)}
            made[f"{number}[1].s"] = {**running(2, "v1"), "euser": user, **draw(odd)}
    return made


@st.composite
def clusters(draw: st.DrawFn) -> list[ServerStatus]:
    """One server three times: its jobs keep their ids and get other texts."""
    queues = {
        "workq": {
            **queue(draw(st.sampled_from(("drive", "drive", "advise", "observe")))),
            **draw(st.sampled_from(QUOTAS)),
        },
        "R1": queue(),
    }
    resources = {**RESOURCES, **{name: {"type": "string", "flag": "m"} for name in ("pbsteer_layout", "pbsteer_rank")}}
    seen = []
    before: Mapping[str, Mapping[str, str]] = {}
    for _ in range(3):
        now = {**draw(jobs()), **dict(list(before.items())[:3])}
        before = now
        reservations = {}
        if draw(st.booleans()):
            window = {"reserve_state": "2", "reserve_start": "1795207000", "reserve_end": "4102444800"}
            kept = {"resv_nodes": "(v1:ncpus=2)", "Reserve_Owner": "alice@h", "queue": "R1"}
            reservations = {"R1.server": {**window, **kept, **draw(changes(OF_RESERVATION, 1, 9))}}
        vnodes = {name: {**vnode(8, used), **draw(changes(OF_VNODE, 0, 1))} for name, used in (("v1", 4), ("v2", 2))}
        seen.append(server_status(now, vnodes, queues, resources=resources, reservations=reservations))
    return seen


def settings() -> st.SearchStrategy[Settings]:
    """Every policy that there is, with ranking and striping or without."""
    return st.builds(
        lambda drawn, ranking, stripe: Settings(
            backfill=drawn.backfill, quota=drawn.quota, priority=drawn.priority, checkpoint=drawn.checkpoint,
            rescue=drawn.rescue, ranking=ranking, stripe=stripe,
        ),
        all_settings(),
        st.sampled_from((RankingSettings(), RankingSettings("memory"))),
        st.sampled_from((StripeSettings(), StripeSettings("auto"))),
    )  # fmt: skip


@given(clusters(), settings())
def test_passes_and_explanations_survive_every_text(seen: list[ServerStatus], drawn: Settings) -> None:
    with tempfile.TemporaryDirectory() as home:
        state = State(Path(home) / "pbsteer")
        with state.locked():
            for each in seen:
                _make_pass(each.to_data(), state, drawn)
                for name in (LEDGER, OBSERVED_LEDGER):
                    assert state.read_ledger(name)[1] == ""
                _look(each, state, drawn)


def _make_pass(data: dict[str, Any], state: State, drawn: Settings) -> None:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD, pbs_ifl.FREED):
        log.clear()
    pbs_ifl.WORLD.update(data)
    run_pass(pbs_ifl, drawn, state)


def _look(seen: ServerStatus, state: State, drawn: Settings) -> None:
    """What ``status`` and ``explain`` print, without a terminal."""
    cluster = see(seen, drawn, state.read_ledger()[0], 0.1, used=dict(seen.jobs)).decided(time.perf_counter)
    status_data(cluster, simulated=False)
    lines = status_lines(cluster, 80)
    for job_id in seen.jobs:
        explanation_data(cluster, job_id)
        lines += ["".join(text for text, _ in line) for line in job_lines(cluster, job_id, 80)]
    assert all(line.isprintable() and len(line) < LONGEST_TEXT for line in lines)


def test_a_subjob_that_is_said_to_wait_and_to_run_leaves_every_reason_whole() -> None:
    array = job("B", 2, array_indices_remaining="1,3,5-9")
    told = {"1[].s": array, "1[1].s": running(2), "4.s": running(1), "13.s": job(cores=4)}
    snapshot = snapshot_of(server_status(told, {"v1": vnode(8)}), Settings())
    for reason, waiting in decide(snapshot, Ledger(), Settings()).waits.by_reason().items():
        assert reason.sentence(waiting[0], snapshot.time_s)
