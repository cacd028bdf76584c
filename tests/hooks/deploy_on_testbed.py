"""The hooks put into a testbed's server, and what they leave there, for the tests that run on a real one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.qmgr_lines_in_one_program import ARGV
from hooks.deploy.read_installed_server_state import Reply
from hooks.store.atomic_file import replace_file
from hooks.store.compiled_modules import COMPILED
from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy.settings.settings_of_server_and_passes import NEEDED, ScheduleSettings, ServerSettings, SubmissionSettings
from policy.settings.site_settings import Settings
from tests.pbs.cluster import PbsCluster

INTERVAL_S = 2
LATE_S = 60
"""By how much a pass, and what it asks for, may come late where other testbeds share the machine."""
_COMPILED_BY_PASS: list[bytes] = []
"""What the first pass of this process's tests has compiled: the passes of later tests find it, and need not compile all
modules again. A pass takes it only if it was made from that hook's own text."""


def quick_settings(mode: str = "observe", guard_starts: str = NEEDED, **tables: Any) -> Settings:
    """Settings with passes that follow each other quickly."""
    schedule = ScheduleSettings(interval_s=INTERVAL_S, budget_s=1.5)
    return Settings(schedule=schedule, server=ServerSettings(mode=mode, guard_starts=guard_starts), **tables)


REFUSING = SubmissionSettings(refuse_impossible="advise")
"""So that what can never run is refused in ``advise`` too."""


def make_deployment(pbs: PbsCluster) -> Deployment:
    def qmgr(line: str) -> Reply:
        done = pbs.run(["qmgr", "-c", line])
        return Reply(done.status, done.stdout, done.stderr)

    def programs(argv: Sequence[str], given: str = "") -> Reply:
        done = pbs.run(argv, stdin=given)
        return Reply(done.status, done.stdout, done.stderr)

    return Deployment(str(pbs.server_home), qmgr, programs, pbs.spec.pbs_exec, lambda lines: programs(ARGV, lines))


def deploy(pbs: PbsCluster, settings: Settings) -> Deployment:
    """Apply the hooks and wait for the first pass."""
    deployment = _apply(pbs, settings)
    wait_for_pass(pbs)
    _keep_compiled(pbs)
    return deployment


def deploy_and_drive(pbs: PbsCluster, settings: Settings, *queues: str) -> Deployment:
    """Apply the hooks and let pbsteer start the queues' jobs from the first pass on. No earlier pass has put on record
    which schedulers were off by themselves: one that is off counts as switched off by pbsteer."""
    deployment = _apply(pbs, settings)
    drive(pbs, *queues)
    _keep_compiled(pbs)
    return deployment


def _apply(pbs: PbsCluster, settings: Settings) -> Deployment:
    deployment = make_deployment(pbs)
    compiled = state_of(pbs).path / COMPILED

    def put_compiled(step: str) -> None:
        if "enabled = true" in step and not compiled.exists():
            for data in _COMPILED_BY_PASS:
                replace_file(compiled, data, sync=False)

    deployment.apply(settings, put_compiled)
    return deployment


def _keep_compiled(pbs: PbsCluster) -> None:
    if not _COMPILED_BY_PASS:
        with contextlib.suppress(FileNotFoundError):
            _COMPILED_BY_PASS.append((state_of(pbs).path / COMPILED).read_bytes())


def state_of(pbs: PbsCluster) -> State:
    return State(state_folder(str(pbs.server_home)))


def last_pass(pbs: PbsCluster) -> Mapping[str, Any]:
    return state_of(pbs).read_published(LAST_PASS)


def wait_for_pass(pbs: PbsCluster) -> None:
    """Wait until a pass that began after now is over and published. An early pass that does nothing is none of them: it
    is not in the journal."""
    asked_s = time.time()
    state = state_of(pbs)

    def is_over() -> bool:
        noted_s = max((float(entry["time_s"]) for entry in state.read_journal(1)), default=0.0)
        return noted_s > asked_s and last_pass(pbs).get("time_s", 0.0) >= noted_s

    pbs.wait_until(is_over, 120.0, "a pass")


def wait_for_due_pass(pbs: PbsCluster) -> None:
    """Wait until a pass that began after now, and was not early, is over and published: it has written its comments.

    A pass on a busy machine may put comments off to the next one, which is then waited for too.
    """
    asked_s = time.time()
    state = state_of(pbs)

    def is_over() -> bool:
        done = [entry for entry in state.read_journal(50) if not entry["early"] and not entry["put_off"]]
        noted_s = max((float(entry["time_s"]) for entry in done), default=0.0)
        return noted_s > asked_s and last_pass(pbs).get("time_s", 0.0) >= noted_s

    pbs.wait_until(is_over, 120.0, "a pass that is not early")


def settle(pbs: PbsCluster) -> None:
    """Wait for two passes: the first one after a mode or a scheduler was changed may only hand over."""
    wait_for_pass(pbs)
    wait_for_pass(pbs)


def set_mode(pbs: PbsCluster, mode: str, *queues: str) -> None:
    """Set the mode of queues (workq where none is named): one value each, and nothing else."""
    pbs.qmgr(*(f"set queue {queue} resources_available.pbsteer_mode = {mode}" for queue in queues or ("workq",)))


def drive(pbs: PbsCluster, *queues: str) -> None:
    """Let pbsteer alone start the queues' jobs."""
    set_mode(pbs, "drive", *queues)
    wait_until_driven(pbs, *queues)


def wait_until_driven(pbs: PbsCluster, *queues: str) -> None:
    """Wait until a pass that began after now drives the queues, which are in ``drive``. A pass that came between an
    edit of ``sched_config`` and its being read has handed them back, and a later one switches the scheduler off."""
    asked_s = time.time()
    wanted = set(queues or ("workq",))

    def is_driven() -> bool:
        seen = last_pass(pbs)
        return seen.get("time_s", 0.0) > asked_s and wanted <= set(seen["acted"])

    pbs.wait_until(is_driven, 120.0, f"a pass that drives {wanted}")


def is_scheduling(pbs: PbsCluster, scheduler: str = "default") -> bool:
    return pbs.qmgr(f"list sched {scheduler} scheduling").strip().endswith("True")


def notes(pbs: PbsCluster) -> str:
    """What the last pass has to tell the administrator."""
    return "\n".join(last_pass(pbs)["notes"])
