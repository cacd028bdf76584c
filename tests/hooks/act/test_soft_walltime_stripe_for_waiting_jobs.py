"""Jobs that wait when their queue's mode changes are told to PBS's scheduler as at a submission, and only once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.act.soft_walltime_stripe_for_waiting_jobs import find_resource_changes, write_resource_changes
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.client.requests_within_time_budget import Requests
from hooks.pbs.custom_resources import OWN_SELECT
from hooks.record.summarize_for_event_hooks import summarize
from hooks.store.event_hook_summary import SUMMARY, read_summary
from hooks.store.state_files import State
from hooks.store.state_folder import state_folder
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.hooks.sample_server_statuses import job, queue, running, server_status, vnode
from tests.hooks.stand_in import pbs_ifl

HALF = Settings(
    BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=3600),
    checkpoint=CheckpointSettings(saves=True),
)
VNODES = {name: vnode(resources_available__host=name) for name in ("v1", "v2")}
STRIPED = {"Resource_List.pbsteer_width": "2", "Resource_List.select": "1:ncpus=4:mpiprocs=4"}
LONG = {"Resource_List.walltime": "10:00:00"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    state_folder(str(tmp_path)).mkdir()
    return tmp_path


def hint(home: Path, mode: str, texts: dict[str, str], settings: Settings = HALF) -> dict[str, Any]:
    """What is told of one job."""
    seen = server_status({"1.s": texts}, vnodes=VNODES, queues={"workq": queue(mode)})
    translation = translate(seen, settings)
    plan = decide(translation.snapshot, Ledger(), settings)
    summary = summarize(translation.snapshot, translation.modes, seen, plan, ())
    State(state_folder(str(home))).publish(SUMMARY, summary.to_data(), shared=False)
    assert read_summary(str(home)) == summary
    return find_resource_changes(translation, seen, summary, settings).get("1.s", {})


def job_attributes(*parts: dict[str, str]) -> dict[str, str]:
    texts = job(cores=4)
    for part in parts:
        texts.update(part)
    return texts


def with_hints(texts: dict[str, str], hints: dict[str, str]) -> dict[str, str]:
    """The job as it is once the hints are given."""
    after = {**texts, **{f"Resource_List.{name}": value for name, value in hints.items()}}
    return {name: value for name, value in after.items() if value}


def test_an_estimate_is_shrunk_once(home: Path) -> None:
    texts = job_attributes(LONG)
    hints = hint(home, "advise", texts)
    assert hints == {"soft_walltime": "18000"}
    assert hint(home, "advise", with_hints(texts, hints)) == {}


@pytest.mark.parametrize("texts", [{"Rerunable": "False"}, {"Checkpoint": "n"}])
def test_an_estimate_of_a_job_that_cannot_be_cut_is_not_shrunk(home: Path, texts: dict[str, str]) -> None:
    assert hint(home, "advise", job_attributes(LONG, texts)) == {}


@pytest.mark.parametrize("mode", ["observe", "drive"])
def test_nothing_is_told_where_pbss_scheduler_is_not_advised(home: Path, mode: str) -> None:
    assert hint(home, mode, job_attributes(LONG, STRIPED)) == {}


def test_a_stripe_is_put_into_the_select_and_taken_out_in_observe(home: Path) -> None:
    texts = job_attributes(STRIPED)
    hints = hint(home, "advise", texts)
    assert (hints["select"], hints["place"]) == ("2:ncpus=2:mpiprocs=2:ompthreads=1", "scatter")
    after = with_hints(texts, hints)
    assert hint(home, "advise", after) == {}
    back = hint(home, "observe", after)
    assert (back[OWN_SELECT], back["place"]) == ("", "free")
    assert back["select"].startswith("1:ncpus=4:mpiprocs=4")


def test_jobs_that_run_and_arrays_that_have_begun_are_left_alone(home: Path) -> None:
    assert hint(home, "advise", {**running(), **LONG}) == {}
    assert hint(home, "advise", job_attributes(LONG, {"job_state": "B"})) == {}


def test_what_a_user_altered_meanwhile_is_not_overwritten() -> None:
    jobs = {f"{number}.s": job() for number in range(1, 40)}
    pbs_ifl.WORLD.clear()
    pbs_ifl.WORLD.update(server_status({**jobs, "35.s": job(cores=8), "36.s": {}}).to_data())
    del pbs_ifl.WORLD["jobs"]["36.s"]
    pending_work = Requests()
    with Connection(pbs_ifl) as connection:
        changes = {job_id: {"soft_walltime": "1800"} for job_id in jobs}
        write_resource_changes(connection, changes, server_status(jobs), pending_work)
    shrunk = {name for name, texts in pbs_ifl.WORLD["jobs"].items() if "Resource_List.soft_walltime" in texts}
    assert (shrunk, pending_work.failures) == (jobs.keys() - {"35.s", "36.s"}, [])
