"""What tests of deploying share: settings and a part to apply, and what an administrator and a pass do meanwhile."""

from __future__ import annotations

import copy
from typing import Any

from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part
from hooks.store.state_files import State
from hooks.store.state_folder import state_folder
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr

SETTINGS = Settings()


FAST = Settings(schedule=ScheduleSettings(interval_s=5, budget_s=2))


def silent(_: str) -> None:
    return


def snapshot(qmgr: FakeQmgr) -> Any:
    return copy.deepcopy(qmgr.everything())


def use_it(qmgr: FakeQmgr) -> None:
    """What an administrator sets once the hooks are there."""
    qmgr("set queue workq resources_available.pbsteer_mode = drive")
    qmgr("set sched default scheduling = False")
    switched_by_a_pass(qmgr, "default")


def switched_by_a_pass(qmgr: FakeQmgr, *names: str) -> None:
    """What a pass writes down of the schedulers that it switches off."""
    Switched(frozenset(names)).write(State(state_folder(str(qmgr.files.parents[1]))))


PART = Part("big", ("gpu",), ("n1", "n2"))
