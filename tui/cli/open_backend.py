"""Which server to look at: this host's PBS where there is one, else a simulated cluster; and where its settings are."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.store.state_dir import LAST_PASS, State, state_folder
from policy import Settings, SettingsError
from policy.settings.site_settings import AlertSettings, ServerSettings
from tui.backends.base import Source, SourceError
from tui.backends.pbs.install import DEFAULT_CONF, PbsPlace, find_pbs
from tui.backends.pbs.server import RealSource
from tui.backends.simulated import SimSource

if TYPE_CHECKING:
    from sim.demo.cluster import DemoCluster
from tui.config.settings_file import chosen_settings, has_site_settings, read_settings

DEMO_SEED = 1


class NoServerError(Exception):
    """There is no PBS on this host; the message says what would help."""


def open_real(environment: Mapping[str, str], server: str, settings: Path | None) -> RealSource:
    """This host's PBS. Raises :class:`NoServerError` where there is none, and :class:`policy.SettingsError` where the
    file that was named is broken; where the host's own is, the source has a ``complaint`` instead."""
    place = find_pbs(environment, server)
    if place is None:
        conf = environment.get("PBS_CONF_FILE", DEFAULT_CONF)
        raise NoServerError(
            f"no PBS on this host: {conf} names no PBS_EXEC with a bin/qstat;"
            " --demo looks at the simulated cluster instead"
        )
    try:
        if settings is None and not has_site_settings():
            return RealSource(place, _applied(place) or Settings())
        return RealSource(place, chosen_settings(settings))
    except SettingsError as error:
        if settings is not None:
            raise
        return _without_own_file(place, error)


def _without_own_file(place: PbsPlace, error: SettingsError) -> RealSource:
    """The server by the settings that its hooks run with, since the host's own file, which the next apply would take,
    is broken; by the built-in ones where they cannot be read."""
    applied = _applied(place)
    whose = "the built-in settings" if applied is None else "the settings that the hooks run with"
    return RealSource(place, applied or Settings(), f"{'; '.join(error.problems)}; going on with {whose}")


def _applied(place: PbsPlace) -> Settings | None:
    """The settings that the last pass ran with; None where they cannot be read."""
    with contextlib.suppress(SettingsError, KeyError):
        published = State(state_folder(str(place.home))).read_published(LAST_PASS)["settings"]
        return Settings.from_data(published, LAST_PASS)
    return None


def open_demo(trace: Path | None = None, size: str = "", settings: Path | None = None) -> SimSource:
    """The simulated cluster, standing still until it is started; with the jobs of a trace where one is given, and with
    hooks that run by the file of ``settings`` where one is named, else by the built-in ones.

    Raises :class:`tui.backends.base.SourceError` for a trace that cannot be loaded, and :class:`policy.SettingsError`.
    """
    policy = Settings() if settings is None else for_demo(read_settings(settings))
    # The simulated server brings the bundled hooks with it; a console on a real server starts without them.
    from sim.demo.cluster import DemoCluster  # noqa: PLC0415
    from sim.demo.scratch import Scratch  # noqa: PLC0415

    def load(trace: Path, size: str) -> DemoCluster:
        return cluster_of_trace(trace, size, policy)

    cluster = DemoCluster(seed=DEMO_SEED, settings=policy) if trace is None else load(trace, size)
    return SimSource(cluster, load, Scratch("pbsteer-demo-audit-"))


def for_demo(settings: Settings) -> Settings:
    """The same without what reaches out of the cluster: a demo alerts nobody, and its files are the user's alone."""
    server = replace(settings.server, journal_group=ServerSettings().journal_group)
    return replace(settings, server=server, alerts=AlertSettings())


def cluster_of_trace(trace: Path, size: str, settings: Settings | None = None) -> DemoCluster:
    """A simulated cluster as the trace's own, or of NODESxCORES. Raises :class:`tui.backends.base.SourceError`."""
    from sim.demo.cluster import DemoCluster  # noqa: PLC0415 - as above
    from sim.traces.read import read_trace  # noqa: PLC0415
    from sim.workload.workload import Cluster  # noqa: PLC0415

    try:
        return DemoCluster(trace=read_trace(trace, Cluster.parse(size) if size else None), settings=settings)
    except ValueError as error:
        raise SourceError(str(error)) from error


def open_any(environment: Mapping[str, str], server: str, settings: Path | None) -> tuple[Source, SimSource | None]:
    """This host's PBS, else a simulated cluster; the second value is the same source where it is simulated."""
    try:
        return open_real(environment, server, settings), None
    except NoServerError:
        if server:
            raise
        demo = open_demo(settings=settings)
        return demo, demo
