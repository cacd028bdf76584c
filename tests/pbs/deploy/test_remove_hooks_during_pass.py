"""Hooks that are changed and removed while the process of a pass lives, as in drive it does for most of the time: it
ends soon, passes come at their time, and no file stays, of those neither that PBS keeps for some time."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest

from hooks.deploy.cleanup.hook_temp_files_cleanup import find_forks
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy, last_pass, make_deployment, quick_settings, state_of
from tests.pbs.cluster import PbsCluster
from tests.pbs.deploy.test_deploy_real import run_cli, silent, wait_until_gone
from tests.pbs.modes.test_early_pass_real import INTERVAL_S, drive, wait_for_pass

pytestmark = pytest.mark.slow

OTHER = Settings(schedule=ScheduleSettings(interval_s=INTERVAL_S + 1, budget_s=10))


@pytest.fixture(autouse=True)
def _no_hooks_of_an_earlier_test(pbs: PbsCluster) -> None:
    wait_until_gone(pbs)


def see_temporary(pbs: PbsCluster) -> set[str]:
    return {path.name for path in (pbs.server_home / "server_priv" / "hooks" / "tmp").iterdir()}


def wait_for_process(pbs: PbsCluster) -> int:
    """The process of a pass that has begun and stays for the time between two."""
    for _ in range(5):
        wait_for_pass(pbs)
        staying = find_forks(pbs.server_home)
        if staying:
            return staying.pop()
    raise AssertionError("no process stays after its pass")


def wait_for_its_end(pbs: PbsCluster, process: int) -> None:
    pbs.wait_until(lambda: process not in find_forks(pbs.server_home), 120.0, "the end of the pass that was left")


def disable_and_enable(pbs: PbsCluster) -> None:
    pbs.qmgr("set hook pbsteer_periodic enabled = false", "set hook pbsteer_periodic enabled = true")


def apply_other_settings(pbs: PbsCluster) -> None:
    make_deployment(pbs).apply(OTHER, silent)


def import_again(pbs: PbsCluster) -> None:
    script = pbs.server_home / "pbsteer" / "hooks" / "pbsteer_periodic.py"
    pbs.qmgr(f"import hook pbsteer_periodic application/x-python default {script}")


def kill_and_start(pbs: PbsCluster) -> None:
    pbs.kill_server()
    pbs.start_server()


def restart(pbs: PbsCluster) -> None:
    pbs.stop_server()
    pbs.start_server()


@pytest.mark.takes(75)
@pytest.mark.parametrize(
    "change",
    [disable_and_enable, apply_other_settings, import_again, kill_and_start, restart],
    ids=lambda f: f.__name__,
)
def test_a_change_under_a_pass_ends_it_and_removing_leaves_no_file(
    pbs: PbsCluster, change: Callable[[PbsCluster], None]
) -> None:
    before = see_temporary(pbs)
    drive(pbs)
    process = wait_for_process(pbs)
    change(pbs)
    wait_for_its_end(pbs, process)
    process = wait_for_process(pbs)
    assert last_pass(pbs)["acted"] == ["workq"]
    removed = run_cli(pbs, "remove")
    assert process not in find_forks(pbs.server_home)
    assert f"remove what is of our hooks in {pbs.server_home}/server_priv/hooks/tmp" in removed.splitlines()
    assert see_temporary(pbs) <= before
    assert not state_of(pbs).path.exists()
    assert "nothing of pbsteer is there" in run_cli(pbs, "remove")


@pytest.mark.takes(80)
def test_a_pass_that_was_killed_or_is_stopped_holds_a_removal_up_for_a_while_at_most(pbs: PbsCluster) -> None:
    before = see_temporary(pbs)
    drive(pbs)
    os.kill(wait_for_process(pbs), signal.SIGKILL)
    process = wait_for_process(pbs)
    os.kill(process, signal.SIGSTOP)
    try:
        run_cli(pbs, "remove")
        assert see_temporary(pbs) <= before
        assert not state_of(pbs).path.exists()
    finally:
        os.kill(process, signal.SIGCONT)
    wait_for_its_end(pbs, process)
    assert not state_of(pbs).path.exists()


def test_qmgr_s_copies_of_what_an_apply_imports_do_not_stay(pbs: PbsCluster) -> None:
    before = see_temporary(pbs)
    deploy(pbs, quick_settings())
    make_deployment(pbs).apply(OTHER, silent)
    assert not [name for name in see_temporary(pbs) - before if name.startswith("qmgr_hook")]


def test_who_applies_while_another_removes_is_refused(pbs: PbsCluster) -> None:
    refused: list[str] = []

    def meanwhile(_: str) -> None:
        if not refused:
            refused.append(run_cli(pbs, "apply", "--json", status=1))
            refused.append(run_cli(pbs, "remove", "--json", status=1))

    deploy(pbs, quick_settings())
    make_deployment(pbs).remove(meanwhile)
    assert refused == ["", ""]
    assert make_deployment(pbs).read().hooks == {}


def limits_of(pbs: PbsCluster) -> list[str]:
    lines = pbs.qmgr("print server").splitlines()
    return [line for line in lines if "set queue workq max_" in line or "set server max_run" in line]


def test_no_limit_is_lost_at_the_restart_after_a_removal(pbs: PbsCluster) -> None:
    pbs.qmgr(
        "set queue workq max_run_res_soft.ncpus = '[u:alice=128],[g:chem=512]'",
        "set queue workq max_run_res_soft.mem = [u:alice=1gb]",
        "set queue workq max_queued = '[u:alice=7],[u:PBS_GENERIC=8]'",
        "set server max_run_res.ncpus = [o:PBS_ALL=70]",
    )
    kept = limits_of(pbs)
    deploy(pbs, quick_settings())
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = '[u:alice=10],[u:bob=5]'")
    with_priorities = limits_of(pbs)
    unset = "unset queue workq max_run_res_soft.user_priority"
    assert f'qmgr -c "{unset}"' in " ".join(run_cli(pbs, "remove", "--plan").replace("#", " ").split())
    removed = json.loads(run_cli(pbs, "remove", "--json", status=1))
    assert (removed["left"], removed["limited"]) == (["user_priority"], {"user_priority": [unset]})
    restart(pbs)
    assert limits_of(pbs) == with_priorities
    pbs.qmgr(unset)
    run_cli(pbs, "remove")
    assert "user_priority" not in pbs.qmgr("print server")
    restart(pbs)
    assert limits_of(pbs) == kept
