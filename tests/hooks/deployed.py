"""The hooks put into a testbed's server, and what they leave there, for the tests that run on a real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.deploy.deployment import Deployment
from hooks.deploy.installed import Reply
from hooks.store.state_dir import LAST_PASS, State, state_folder
from policy.settings.site_settings import PassSettings, ServerSettings, Settings, SubmissionSettings
from tests.pbs.cluster import PbsCluster

INTERVAL_S = 2
LATE_S = 60
"""By how much a pass, and what it asks for, may come late where other testbeds share the machine."""


def quick_settings(mode: str = "observe", **tables: Any) -> Settings:
    """Settings with passes that follow each other quickly."""
    schedule = PassSettings(interval_s=INTERVAL_S, budget_s=1.5)
    return Settings(schedule=schedule, server=ServerSettings(mode=mode), **tables)


REFUSING = SubmissionSettings(refuse_impossible="advise")
"""So that what can never run is refused in ``advise`` too."""


def make_deployment(pbs: PbsCluster) -> Deployment:
    def qmgr(line: str) -> Reply:
        done = pbs.run(["qmgr", "-c", line])
        return Reply(done.status, done.stdout, done.stderr)

    def programs(argv: Sequence[str]) -> Reply:
        done = pbs.run(argv)
        return Reply(done.status, done.stdout, done.stderr)

    return Deployment(str(pbs.server_home), qmgr, programs, pbs.spec.pbs_exec)


def deploy(pbs: PbsCluster, settings: Settings) -> Deployment:
    """Apply the hooks and wait for the first pass."""
    deployment = make_deployment(pbs)
    deployment.apply(settings, lambda _: None)
    wait_for_pass(pbs)
    return deployment


def state_of(pbs: PbsCluster) -> State:
    return State(state_folder(str(pbs.server_home)))


def last_pass(pbs: PbsCluster) -> Mapping[str, Any]:
    return state_of(pbs).read_published(LAST_PASS)


def wait_for_pass(pbs: PbsCluster) -> None:
    """Wait until a pass that began after now is over."""
    seen_s = last_pass(pbs).get("time_s", 0.0)
    pbs.wait_until(lambda: last_pass(pbs).get("time_s", 0.0) > seen_s, 120.0, "a pass")
    begun_s = last_pass(pbs)["time_s"]
    pbs.wait_until(lambda: last_pass(pbs)["time_s"] > begun_s, 120.0, "one more pass")


def set_mode(pbs: PbsCluster, mode: str, *queues: str) -> None:
    """Set the mode of queues (workq where none is named): one value each, and nothing else."""
    pbs.qmgr(*(f"set queue {queue} resources_available.pbsteer_mode = {mode}" for queue in queues or ("workq",)))


def drive(pbs: PbsCluster, *queues: str) -> None:
    """Let pbsteer start the queues' jobs, and nobody else."""
    set_mode(pbs, "drive", *queues)
    wanted = set(queues or ("workq",))
    pbs.wait_until(lambda: wanted <= set(last_pass(pbs).get("acted", ())), 120.0, f"a pass that drives {wanted}")


def is_scheduling(pbs: PbsCluster, scheduler: str = "default") -> bool:
    return pbs.qmgr(f"list sched {scheduler} scheduling").strip().endswith("True")


def notes(pbs: PbsCluster) -> str:
    """What the last pass has to tell the administrator."""
    return "\n".join(last_pass(pbs)["notes"])
