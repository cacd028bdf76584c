"""A healthy installation as the doctor's checks read it, for tests that break one thing of it."""

from __future__ import annotations

from pathlib import Path

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.deployment_record import DeploymentRecord
from hooks.deploy.health.hook_health import Evidence, check_health
from hooks.deploy.hook_names import HOOKS
from hooks.pbs.custom_resources import RESOURCES
from policy.settings.site_settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr
from tests.tui.scripted_server import NOON_S, a_server_status, changed
from tui.backends.pbs.find_pbs import PbsPlace
from tui.cli.doctor.observe_host_and_server import Observed

PASS = {
    "time_s": NOON_S - 5,
    "modes": {"workq": "drive", "gpu": "observe"},
    "acted": ["workq"],
    "seconds": {"read_s": 0.1, "decide_s": 0.2, "act_s": 0.1},
    "starts": [{"job": "11.hpc1", "user": "zoe", "cores": 8}],
    "waits": [{"code": "no-quota", "jobs": 2, "example": "14.hpc1", "sentence": "u:carol would use 64 of 8"}],
    "notes": [],
    "failures": [],
}


def a_healthy_server(home: Path, settings: Settings = Settings()) -> Observed:  # noqa: B008 - it is frozen
    """The scripted server with the hooks in it, all vnodes up, workq driven and gpu observed."""
    deployment = Deployment(str(home), FakeQmgr(home))
    deployment.apply(settings, lambda _: None)
    installed = deployment.read()
    evidence = Evidence(installed, DeploymentRecord(frozenset(RESOURCES)), folder=True, entry=PASS)
    status = a_server_status()
    queues = {**status.queues, "gpu": {**status.queues["gpu"], "partition": "gpu"}}
    scheds = {
        "default": {"partition": "pbs-default", "scheduling": "False", "state": "idle"},
        "gpu": {"partition": "gpu", "scheduling": "True", "state": "idle"},
    }
    vnodes = {**status.vnodes, "v3": {**status.vnodes["v3"], "state": "free"}}
    server = {**status.server, "scheduling": "True", "max_queued": "[u:PBS_GENERIC=5000]"}
    return Observed(
        NOON_S,
        home / "policy.toml",
        PbsPlace(Path("/opt/pbs"), home, "hpc1"),
        changed(status, queues=queues, scheds=scheds, vnodes=vnodes, server=server),
        installed,
        check_health(evidence, HOOKS, NOON_S),
        (PASS,),
    )
