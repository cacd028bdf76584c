"""Reads what the checks judge on a host of Torque's: the server's status, the settings file, the passes, and this host.

As for PBS, nothing is changed, and what this user may not read is named in :attr:`Observed.unseen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy.settings.site_settings import Settings, SettingsError
from torque.passes.other_schedulers import find_other_scheduler
from torque.passes.settings_as_server_attributes import check_for_torque
from tui.backends.find_torque import TorquePlace
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.torque.server import TorqueBackend
from tui.cli.doctor.finding import AS_ROOT
from tui.cli.doctor.observe_host_and_server import Observed, read_passes, read_site


@dataclass(frozen=True)
class ObservedTorque(Observed):
    """All that was read. ``in_use``: the settings of the file, the last pass's while that is not valid; None if neither
    can be read. ``reports_s``: when the MoM of each node last reported; ``other_scheduler``: the name and process of
    another scheduler on this host, or empty."""

    in_use: Settings | None = None
    reports_s: Mapping[str, float] = field(default_factory=dict)
    other_scheduler: str = ""

    @property
    def applied(self) -> Settings | None:
        """The settings that a pass uses."""
        return self.in_use


def observe_torque(place: TorquePlace, policy: Path, now_s: float, proc: Path) -> ObservedTorque:
    """Read everything that this user may. ``policy``: the settings file; ``proc``: where the kernel shows the
    processes of this host."""
    unseen: dict[str, str] = {}
    site, problems = read_site(policy, unseen)
    folder = state_folder(str(place.home))
    in_use: Settings | None = None
    try:
        in_use = _read_last_used(folder) if problems or unseen else check_for_torque(site or Settings(), str(policy))
    except SettingsError as error:
        in_use, problems = _read_last_used(folder), tuple(error.problems)
    seen: dict[str, Any] = {"site_settings": None if problems else site, "site_problems": problems, "in_use": in_use}
    backend = TorqueBackend(place, in_use or Settings(), settings_file=policy)
    try:
        seen["server_status"] = backend.poll()
        seen["reports_s"] = backend.last_reports()
    except BackendError as error:
        seen["away"] = str(error)
    finally:
        backend.close()
    try:
        seen["passes"] = read_passes(folder)
    except OSError as error:
        unseen["passes"] = f"{error.filename}: {error.strerror}: {AS_ROOT}"
    server = seen["server_status"].server if "server_status" in seen else {}
    other = find_other_scheduler(server, proc)
    return ObservedTorque(now_s, policy, place, unseen=unseen, other_scheduler=other, **seen)


def _read_last_used(folder: Path) -> Settings | None:
    """The settings of the last pass; None if they cannot be read."""
    try:
        return Settings.from_data(State(folder).read_published(LAST_PASS)["settings"], LAST_PASS)
    except (SettingsError, KeyError):
        return None
