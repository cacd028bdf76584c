"""What a site's program printed is what the server has left of a dynamic resource."""

from __future__ import annotations

import pytest

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import DYNAMIC
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, queue, server_status, vnode

RESOURCES = {"ncpus": {"type": "long", "flag": "nh"}, "lic": {"type": "long"}, "disk": {"type": "size"}}
LISTED = 'resources: "ncpus, lic, disk, site"\n'


def read_left(printed: str, config: str = LISTED, assigned: str = "", flag: str = "") -> dict[str, int]:
    resources = {**RESOURCES, "lic": {"type": "long", **({"flag": flag} if flag else {})}}
    server = {"resources_assigned.lic": assigned} if assigned else {}
    status = server_status(server=server, resources=resources)
    files = {"default": {"sched_config": config, DYNAMIC: printed}}
    return dict(translate(status, Settings(), files).snapshot.server.shared)


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("lic 5", {"lic": 5}),
        ("lic 5.9", {"lic": 5}),
        ("lic -3", {"lic": 0}),
        ("lic nan", {"lic": 0}),
        ("lic many", {"lic": 0}),
        ("lic ", {"lic": 0}),
        ("disk 2gb\nlic 1", {"disk": 2 << 20, "lic": 1}),
        ("unknown 4", {}),
        ("", {}),
    ],
)
def test_amounts_are_read_and_what_is_none_counts_as_0(printed: str, left: dict[str, int]) -> None:
    assert read_left(printed) == left


def test_a_resource_that_the_scheduler_does_not_check_is_not_counted() -> None:
    assert read_left("lic 5", 'resources: "ncpus"\n') == {}


def test_what_the_server_counts_as_assigned_is_taken_off() -> None:
    assert read_left("lic 5", assigned="2", flag="q") == {"lic": 3}


def test_jobs_that_start_use_it_up_and_the_others_wait() -> None:
    asked = {"1.server": "2", "2.server": "2", "3.server": "1", "4.server": ""}
    jobs = {job_id: {**job(cores=1), **({"Resource_List.lic": text} if text else {})} for job_id, text in asked.items()}
    status = server_status(jobs=jobs, queues={"workq": queue()}, vnodes={"v": vnode(8)}, resources=RESOURCES)
    files = {"default": {"sched_config": LISTED, DYNAMIC: "lic 3"}}
    plan = decide(translate(status, Settings(), files).snapshot, Ledger(), Settings())
    assert sorted(start.job.id for start in plan.starts) == ["1.server", "3.server", "4.server"]
    reason = plan.reason_of("2.server")
    assert reason is not None
    assert (reason.code, dict(reason.numbers)) == ("server-resource", {"resource": "lic", "asked": 2, "left": 1})
