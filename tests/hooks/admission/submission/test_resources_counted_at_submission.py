"""What submissions are judged by: what all vnodes have, as far as what starts the jobs goes by it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import find_impossible
from hooks.record.summarize_for_event_hooks import summarize
from hooks.store.event_hook_summary import SUMMARY, read_summary
from hooks.store.state_files import State
from hooks.store.state_folder import state_folder
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import RESOURCES, queue, server_status, vnode

LISTED, DEFAULT = "ncpus, mem, part", "ncpus, mem, arch, host, vnode, aoe, eoe"


def judge(folder: Path, mode: str, resources: str, asked: Mapping[str, str]) -> str:
    """Why a submission is refused where the first of two vnodes has two parts, and nothing says anything of GPUs."""
    (folder / "sched_config").write_text(f'resources: "{resources}"\n')
    seen = server_status(
        vnodes={"v1": vnode(resources_available__part="2"), "v2": vnode()},
        queues={"workq": queue(mode)},
        resources={**RESOURCES, "part": {"type": "long", "flag": "hn"}},
        scheds={"default": {"scheduling": "True", "partition": "pbs-default", "sched_priv": str(folder)}},
    )
    translation = translate(seen, Settings())
    plan = decide(translation.snapshot, Ledger(), Settings())
    state_folder(str(folder)).mkdir(exist_ok=True)
    summary = summarize(translation.snapshot, translation.modes, seen, plan, ())
    State(state_folder(str(folder))).publish(SUMMARY, summary.to_data(), shared=False)
    everywhere = Settings(submission=SubmissionSettings(refuse_impossible="advise"))
    return find_impossible(asked, "workq", read_summary(str(folder)), everywhere) or ""


@pytest.mark.parametrize("mode", ["advise", "drive"])
def test_what_nobody_counts_is_no_reason_to_refuse_a_job(tmp_path: Path, mode: str) -> None:
    assert judge(tmp_path, mode, DEFAULT, {"select": "2:ncpus=1:ngpus=4"}) == ""
    assert "asks for ncpus=17" in judge(tmp_path, mode, DEFAULT, {"select": "17:ncpus=1:ngpus=4"})


def test_in_advise_only_what_the_scheduler_looks_at_is_a_reason(tmp_path: Path) -> None:
    asked = {"select": "1:ncpus=1:part=3"}
    assert judge(tmp_path, "advise", DEFAULT, asked) == ""
    for mode, resources in (("advise", LISTED), ("drive", DEFAULT)):
        assert "it asks for part=3" in judge(tmp_path, mode, resources, asked), mode
