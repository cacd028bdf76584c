"""The layout of a job that PBS's scheduler places: from its preference, what is learned, and the jobs that wait."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.admission.submission.stripe_select import find_stripe
from hooks.store.event_hook_summary import SUMMARY, QueueSummary, Summary, read_summary
from hooks.store.state_folder import state_folder
from policy.model.ledger_between_passes import Ledger, Tally
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import Settings
from policy.striping.batch_of_waiting_jobs import Batch, CoresAndMemory

NODE = ((("mem", 32 << 20), ("ncpus", 8)),)
CONSUMABLES = frozenset({"ncpus", "mem"})
SELECT = "1:ncpus=8:mpiprocs=8"
SIXTEEN = "16:ncpus=1:mpiprocs=1"
AUTO = Settings(stripe=StripeSettings(layout="auto", learn_runs=3))
LEARN = Settings(stripe=StripeSettings(layout="learn", learn_runs=3))


def summary(idle_nodes: int = 0, learned: Any = None) -> Summary:
    """Eight nodes of eight cores, so many of them idle."""
    batch = Batch(CoresAndMemory(64), CoresAndMemory(8 * idle_nodes))
    queue = QueueSummary("advise", {"ncpus": 64}, {"ncpus": 8}, 8, 8, ((NODE, 8),), batch=batch)
    return Summary({"workq": queue}, "workq", CONSUMABLES, past=Ledger(learned=learned or {}))


def nodes_of(known: Summary, settings: Settings, select: str = SIXTEEN, user: str = "alice", **more: str) -> int:
    """Over how many nodes the job is striped; 0 if it keeps its select."""
    asked = {"select": select, **more}
    chunks = find_stripe(asked, user, known.queues["workq"], known, settings).get("select", "")
    return sum(int(chunk.partition(":")[0]) for chunk in chunks.split("+")) if chunks else 0


@pytest.mark.parametrize(("idle_nodes", "nodes"), [(8, 8), (7, 4), (4, 4), (3, 0), (0, 0)])
def test_auto_goes_by_what_the_last_pass_saw_idle(idle_nodes: int, nodes: int) -> None:
    assert nodes_of(summary(idle_nodes), AUTO) == nodes
    assert nodes_of(summary(idle_nodes), Settings(), pbsteer_layout="auto") == nodes


def test_a_width_beside_auto_is_the_most() -> None:
    assert nodes_of(summary(8), Settings(), pbsteer_layout="auto", pbsteer_width="5") == 5
    assert nodes_of(summary(4), Settings(), pbsteer_layout="auto", pbsteer_width="5") == 4


def test_a_chunk_that_no_node_holds_is_striped_though_auto_would_pack_it() -> None:
    assert nodes_of(summary(0), AUTO, "1:ncpus=16:mpiprocs=16") == 4
    assert nodes_of(summary(0), Settings(stripe=StripeSettings(layout="pack")), "1:ncpus=16:mpiprocs=16") == 0


@pytest.mark.parametrize(("most_chunks", "nodes"), [(8, 8), (5, 5), (2, 0), (None, 8)])
def test_auto_keeps_within_the_chunks_that_the_queue_takes(most_chunks: int | None, nodes: int) -> None:
    known = summary(8)
    limited = known.queues["workq"]._replace(most_chunks=most_chunks)
    assert nodes_of(replace(known, queues={"workq": limited}), AUTO) == nodes


def test_what_is_learned_of_one_user_is_for_that_user() -> None:
    """Though the request is the same, and the summary still knows what it found for the first."""
    better = {"pack": Tally(3, (0.5,) * 3), "stripe": Tally(3, (0.6,) * 3), "stripe*2": Tally(3, (0.9,) * 3)}
    known = summary(learned={"u:alice:wrf": better})
    for settings in (LEARN, AUTO):
        assert nodes_of(known, settings, pbsteer_app="wrf") == 8
        assert nodes_of(known, settings, pbsteer_app="wrf", user="bob") == 0


def test_a_sites_own_size_keeps_its_amount_in_a_stripe() -> None:
    """PBS reads a number without a unit as bytes, in the job's own select and in the stripe's."""
    node = ((("mem", 32 << 20), ("ncpus", 8), ("scratch", 100 << 20)),)
    known = summary()
    queue = known.queues["workq"]._replace(nodes=((node, 8),))
    sizes = known.sizes | {"scratch"}
    known = replace(known, queues={"workq": queue}, consumables=CONSUMABLES | {"scratch"}, sizes=sizes)
    for amount in ("8gb", str(8 << 30)):
        asked = {"select": f"1:ncpus=8:mpiprocs=8:scratch={amount}", "pbsteer_layout": "stripe"}
        found = find_stripe(asked, "alice", queue, known, Settings())
        assert found["select"] == f"2:ncpus=4:scratch={4 << 20}kb:mpiprocs=4:ompthreads=1"


def test_batch_and_sizes_survive_the_summarys_file(tmp_path: Path) -> None:
    folder = state_folder(str(tmp_path))
    folder.mkdir(parents=True)
    known = summary(5)
    described = known.queues["workq"]._replace(chunk={})
    data = Summary({"workq": described}, "workq", CONSUMABLES, sizes=frozenset({"mem", "scratch"})).to_data()
    (folder / SUMMARY).write_text(json.dumps(data), encoding="utf-8")
    read = read_summary(str(tmp_path))
    assert (read.queues["workq"].batch, read.sizes) == (described.batch, frozenset({"mem", "scratch"}))
