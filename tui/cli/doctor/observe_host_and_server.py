"""Reads all that the checks judge: the server's status, the hooks, the settings, the passes, and this host.

Nothing is changed. What this user may not read is left out, and :attr:`Observed.unseen` says why.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.control.pbs_scheduler.drive_mode_obstacles import find_obstacles
from hooks.control.pbs_scheduler.scheduler_sorts_by_priority import find_unsorted
from hooks.deploy.health.hook_health import Health
from hooks.deploy.read_installed_server_state import DeployError, Installed, read_applied
from hooks.deploy.settings_and_partition.check_settings_against_server import find_missing, find_unfit
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import read_sched_files
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import State
from hooks.store.state_folder import state_folder
from hooks.translate.queues import read_modes
from policy.settings.site_settings import Settings, SettingsError
from tui.backends.find_torque import TorquePlace
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.pbs.explain_unreachable_server import explain
from tui.backends.pbs.find_pbs import PbsPlace
from tui.backends.pbs.open_hook_deployment import ask_qmgr, open_deployment, read_place
from tui.backends.pbs.server import PbsBackend
from tui.cli.doctor.finding import AS_ROOT
from tui.cli.hooks_commands.hooks_status import read_health
from tui.config.read_site_policy_toml import read_settings

PASSES = 20
"""How many of the last passes are looked at."""


@dataclass(frozen=True)
class Observed:
    """All that was read at ``now_s``. None stands for what could not be read, for the reason in ``unseen``.

    ``away``: why the server does not answer, or empty. ``policy``: the site's settings file; ``site_settings``: the
    valid settings in it, else ``site_problems`` has sentences. ``unfit`` and ``missing``: what of the applied settings
    the server or the host lacks. ``obstacles``: by queue, why it is not driven, or why no job is preempted for it.
    """

    now_s: float
    policy: Path
    place: PbsPlace | TorquePlace | None = None
    server_status: ServerStatus | None = None
    installed: Installed | None = None
    health: Health | None = None
    passes: tuple[Mapping[str, Any], ...] | None = None
    away: str = ""
    unseen: Mapping[str, str] = field(default_factory=dict)
    site_settings: Settings | None = None
    site_problems: tuple[str, ...] = ()
    unfit: str = ""
    missing: tuple[str, ...] = ()
    obstacles: Mapping[str, str] = field(default_factory=dict)

    @property
    def applied(self) -> Settings | None:
        """The settings that the hooks run with; None if there are none, or if they cannot be read."""
        return read_applied(self.installed) if self.installed is not None else None

    @property
    def folder(self) -> Path | None:
        """The folder of pbsteer's state."""
        return state_folder(str(self.place.home)) if self.place is not None else None

    def modes(self) -> dict[str, str]:
        """The mode of each queue that pbsteer manages, as a pass takes it."""
        if self.server_status is None:
            return {}
        return dict(sorted(read_modes(self.server_status, self.applied or Settings()).items()))


def observe(conf: Path, policy: Path, now_s: float) -> Observed:
    """Read everything that this user may. ``conf``: the server's pbs.conf; ``policy``: the site's settings file."""
    unseen: dict[str, str] = {}
    site, problems = read_site(policy, unseen)
    seen: dict[str, Any] = {"site_settings": site, "site_problems": problems}
    try:
        place = read_place(conf)
    except DeployError as error:
        return Observed(now_s, policy, unseen={**unseen, "PBS": str(error)}, **seen)
    backend = PbsBackend(place, Settings())
    try:
        status = backend.poll()
        seen["server_status"] = status
    except BackendError as error:
        status = None
        seen["away"] = str(error)
    finally:
        backend.close()
    if status is not None:
        try:
            deployment = open_deployment(place)
            installed = deployment.read()
            seen.update(installed=installed, health=read_health(deployment, place.home, now_s))
        except (DeployError, OSError) as error:
            installed = None
            unseen["hooks"] = explain(str(error), "") or str(error)
        applied = read_applied(installed) if installed is not None else None
        if applied is not None:
            seen["missing"] = tuple(find_missing(applied))
            seen["unfit"] = _find_unfit(place, applied)
        seen["obstacles"] = _find_obstacles(Observed(now_s, policy, place, status, installed))
    try:
        seen["passes"] = read_passes(state_folder(str(place.home)))
    except OSError as error:
        unseen["passes"] = f"{error.filename}: {error.strerror}: {AS_ROOT}"
    return Observed(now_s, policy, place, unseen=unseen, **seen)


def read_site(policy: Path, unseen: dict[str, str]) -> tuple[Settings | None, tuple[str, ...]]:
    """The valid settings of the site's file, None if there are none, and what is wrong with it. Whether this user may
    not read it is added to ``unseen``."""
    try:
        policy.lstat()
        return read_settings(policy), ()
    except (FileNotFoundError, NotADirectoryError):
        return None, ()
    except OSError as error:
        unseen["settings"] = f"{policy}: {error.strerror}"
        return None, ()
    except SettingsError as error:
        if isinstance(error.__cause__, PermissionError):
            unseen["settings"] = f"{policy}: {error.__cause__.strerror}"
            return None, ()
        return None, tuple(error.problems)


def read_passes(folder: Path) -> tuple[Mapping[str, Any], ...] | None:
    """The last passes, oldest first; None without a folder. Raises OSError if this user may not read them."""
    if not os.path.lexists(folder):
        return None
    os.scandir(folder).close()
    return tuple(entry for entry in State(folder).read_journal(PASSES) if isinstance(entry, dict))


def _find_unfit(place: PbsPlace, applied: Settings) -> str:
    try:
        return find_unfit(ask_qmgr(place), applied)
    except DeployError as error:
        return str(error)


def _find_obstacles(observed: Observed) -> dict[str, str]:
    """Why queues in ``drive`` are not driven, and why no job is preempted in those in ``advise``, in the words of a
    pass. Files of the schedulers that this user may not read count as absent."""
    status, modes = observed.server_status, observed.modes()
    if status is None or not {"advise", "drive"} & set(modes.values()):
        return {}
    try:
        files = read_sched_files(status)
    except OSError:
        return {}
    advised = [queue for queue, mode in modes.items() if mode == "advise"]
    return {**find_obstacles(status, modes, {}, files), **find_unsorted(status, advised, files)}
