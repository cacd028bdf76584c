"""Chooses the backend (this host's PBS or Torque, else a simulated cluster) and its settings."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy import Settings, SettingsError
from policy.settings.settings_of_server_and_passes import AlertSettings, ServerSettings
from tui.backends.find_torque import find_torque
from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.backends.pbs.find_pbs import find_pbs, no_pbs
from tui.backends.pbs.server import PbsBackend
from tui.backends.simulated_cluster import SimulatedBackend

if TYPE_CHECKING:
    from sim.demo.demo_cluster_with_hooks import DemoCluster
    from tui.backends.torque.server import TorqueBackend
from tui.config.read_site_policy_toml import DEFAULT_POLICY, chosen_settings, has_site_settings, read_settings

DEMO_SEED = 1
DEMO_NAME = "demo"
"""The simulated cluster's name until it is built."""


class NoServerError(Exception):
    """This host has no PBS; the message says what would help."""


def open_real(environment: Mapping[str, str], server: str, settings: Path | None) -> PbsBackend | TorqueBackend:
    """This host's Torque where the programs of its PATH are Torque's, else its PBS. Raises :class:`NoServerError` where
    there is neither, and :class:`policy.SettingsError` where the file ``settings`` is invalid; where the host's own
    file is, the backend has a ``complaint`` instead.
    """
    torque = find_torque(environment, server)
    if torque is not None:
        from tui.backends.torque.server import TorqueBackend  # noqa: PLC0415 - a console on PBS starts without it

        return TorqueBackend(torque, *_settings(torque.home, settings), settings or DEFAULT_POLICY)
    place = find_pbs(environment, server)
    if place is None:
        raise NoServerError(f"{no_pbs(environment)}; --demo looks at the simulated cluster instead")
    return PbsBackend(place, *_settings(place.home, settings))


def _settings(home: Path, chosen: Path | None) -> tuple[Settings, str]:
    """The settings, and what is wrong with the host's own file (empty: nothing). Where that file, which the next apply
    would use, is invalid, they are those of the last pass, else the built-in ones.
    """
    try:
        if chosen is None and not has_site_settings():
            return _applied(home) or Settings(), ""
        return chosen_settings(chosen), ""
    except SettingsError as error:
        if chosen is not None:
            raise
        applied = _applied(home)
        whose = "the built-in settings" if applied is None else "the settings that the hooks run with"
        return applied or Settings(), f"{'; '.join(error.problems)}; going on with {whose}"


def _applied(home: Path) -> Settings | None:
    """The settings of the last pass; None where they cannot be read."""
    with contextlib.suppress(SettingsError, KeyError):
        published = State(state_folder(str(home))).read_published(LAST_PASS)["settings"]
        return Settings.from_data(published, LAST_PASS)
    return None


def open_demo(trace: Path | None = None, size: str = "", settings: Path | None = None) -> SimulatedBackend:
    """The simulated cluster, not yet started, and built by the first call that needs it; with the jobs of ``trace``
    where given, and with hooks that use the settings file ``settings`` where given, else the built-in settings.

    Raises :class:`tui.backends.interface.backend_protocol.BackendError` for a trace that cannot be loaded, and
    :class:`policy.SettingsError`.
    """
    policy = Settings() if settings is None else for_demo(read_settings(settings))
    from sim.demo.scratch_folder import Scratch  # noqa: PLC0415 - as is all that is simulated

    def load(trace: Path, size: str) -> DemoCluster:
        return cluster_of_trace(trace, size, policy)

    def build() -> DemoCluster:
        # Importing the simulated server imports the bundled hooks; a console on a real server starts without them.
        from sim.demo.demo_cluster_with_hooks import DemoCluster  # noqa: PLC0415

        return DemoCluster(seed=DEMO_SEED, settings=policy, calm=True)

    own = Scratch("pbsteer-demo-audit-")
    return SimulatedBackend(build if trace is None else load(trace, size), load, own, DEMO_NAME)


def for_demo(settings: Settings) -> Settings:
    """The settings without what has effects outside the simulated cluster: no alerts, and the default group of the
    journal.
    """
    server = replace(settings.server, journal_group=ServerSettings().journal_group)
    return replace(settings, server=server, alerts=AlertSettings())


def cluster_of_trace(trace: Path, size: str, settings: Settings | None = None) -> DemoCluster:
    """A simulated cluster with the jobs of a trace: the trace's own size, or NODESxCORES. Raises
    :class:`tui.backends.interface.backend_protocol.BackendError`.
    """
    from sim.demo.demo_cluster_with_hooks import DemoCluster  # noqa: PLC0415 - as above
    from sim.traces.read_trace import read_trace  # noqa: PLC0415
    from sim.workload.workload import Cluster  # noqa: PLC0415

    try:
        return DemoCluster(trace=read_trace(trace, Cluster.parse(size) if size else None), settings=settings)
    except ValueError as error:
        raise BackendError(str(error)) from error


def open_any(
    environment: Mapping[str, str], server: str, settings: Path | None
) -> tuple[Backend, SimulatedBackend | None]:
    """This host's PBS or Torque, else a simulated cluster; the second value is the same backend if it is simulated."""
    try:
        return open_real(environment, server, settings), None
    except NoServerError:
        if server:
            raise
        demo = open_demo(settings=settings)
        return demo, demo
