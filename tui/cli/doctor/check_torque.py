"""The checks that differ on Torque: versions, queues and pauses, schedulers and the process of the passes, silent MoMs,
and settings that the server would not carry out."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping

from hooks.deploy.bundle_hook import VERSION, source_digest
from hooks.pbs.pause_in_server_attributes import is_stopped, name_pause
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.pbs_units import show_count
from policy.settings.site_settings import Settings
from torque.passes.settings_as_server_attributes import drives, find_unknown_queues, queues_saved_jobs
from tui.backends.pbs.open_hook_deployment import qmgr_command
from tui.cli.doctor.check_hooks_passes_settings import check_passes
from tui.cli.doctor.check_server_queues_schedulers import check_clocks, check_server, check_vnodes
from tui.cli.doctor.check_state_folder_and_disk import check_disk, check_folder
from tui.cli.doctor.finding import AS_ROOT, Finding, invalid_setting, ok, show_first, unseen, warn, wrong
from tui.cli.doctor.observe_torque import ObservedTorque

TESTED_VERSIONS = ("6.1.3",)
"""The versions of Torque that the project's tests have run on."""

_START = "systemctl start pbsteer-pass, or run pbsteer pass"
_LATE_PASSES = 3
"""A pass is missing once the last one is older than so many intervals."""
_SILENT_S = 150.0
"""A MoM is silent after that; by Torque's own default it reports each 45 s."""
_SHOWN = 5
_DOWN = ("down", "offline")


def examine_torque(observed: ObservedTorque) -> Iterator[Finding]:
    """All findings on a host of Torque's, in the order of the report."""
    status = observed.server_status
    yield _check_versions(status)
    yield from check_server(observed)
    if status is not None:
        modes = observed.modes()
        passes = observed.passes or ()
        last_s = max((float(entry.get("time_s", 0.0)) for entry in passes), default=0.0)
        yield from _check_queues(status, modes)
        yield from _check_schedulers(observed, modes)
        yield from check_vnodes(status)
        yield from _check_reports(status, observed.reports_s)
        yield from check_clocks(status, observed.now_s, last_s)
    if "passes" in observed.unseen or observed.passes:
        yield from check_passes(observed, "the console shows them (key 7, ←)")
    yield from _check_settings(observed)
    if observed.place is not None and observed.folder is not None:
        may_have_group = observed.applied is None or bool(observed.applied.server.journal_group)
        yield from check_folder(observed.folder, group_may_read=may_have_group)
        yield from check_disk(observed.place.home)


def _check_versions(status: ServerStatus | None) -> Finding:
    text = f"pbsteer {VERSION} {source_digest()}, Python {platform.python_version()}"
    if status is None:
        return ok("versions", text)
    torque = status.server.get("pbs_version", "")
    tried = "" if torque.startswith(TESTED_VERSIONS) else f" (pbsteer's tests have run on {', '.join(TESTED_VERSIONS)})"
    return ok("versions", f"{text}, Torque {torque or 'of unknown version'}{tried}")


def _check_queues(status: ServerStatus, modes: Mapping[str, str]) -> Iterator[Finding]:
    shown = [
        name + ("" if status.queues[name].get("started", "True") == "True" else " (stopped)") + f" {mode}"
        for name, mode in modes.items()
    ]
    yield ok("queues", ", ".join(shown) or "no execution queue")
    stopped = is_stopped(status) and "drive" in modes.values()
    paused = name_pause(status, stopped=stopped)
    if paused:
        by_name = name_pause(status, stopped=False)
        remedy = "pbsteer resume" if by_name else qmgr_command("set server scheduling = True")
        yield warn("queues", paused, remedy)._replace(shared="pbsteer is paused")


def _check_schedulers(observed: ObservedTorque, modes: Mapping[str, str]) -> Iterator[Finding]:
    """Whether one scheduler, and only one, starts jobs, and whether passes are made."""
    found = []
    other, is_driven = observed.other_scheduler, "drive" in modes.values()
    if is_driven and other:
        text = f"{other} starts jobs of this server, so pbsteer drives nothing"
        found.append(wrong("schedulers", text, "stop it, or set the mode to observe"))
    elif not is_driven and not other and observed.applied is not None:
        text = "no queue is in drive, and no scheduler of Torque's runs on this host"
        found.append(warn("schedulers", text, "start one here, or see that one runs on another host"))
    if "passes" not in observed.unseen:
        late = _describe_late_pass(observed)
        if late:
            effect = ": no job is started" if is_driven and not other else ""
            found.append((wrong if is_driven else warn)("passes", f"{late}{effect}", _START))
    yield from found or [ok("schedulers", "pbsteer pass" if is_driven else other or "none on this host")]


def _describe_late_pass(observed: ObservedTorque) -> str:
    """That no pass has been made for long; empty if one has."""
    if not observed.passes:
        return "no pass has been made"
    last_s = max(float(entry.get("time_s", 0.0)) for entry in observed.passes)
    late_s = observed.now_s - last_s
    allowed_s = _LATE_PASSES * (observed.applied or Settings()).schedule.interval_s
    return f"the last pass was {late_s:,.0f} s ago" if late_s > allowed_s else ""


def _check_reports(status: ServerStatus, reports_s: Mapping[str, float]) -> Iterator[Finding]:
    """MoMs that report no more though the server takes their nodes for free."""
    newest_s = max(reports_s.values(), default=0.0)
    silent = [
        name
        for name, at_s in sorted(reports_s.items())
        if max(newest_s, status.time_s) - at_s > _SILENT_S
        and not any(word in status.vnodes.get(name, {}).get("state", "") for word in _DOWN)
    ]
    if silent:
        text = f"{show_count(len(silent), 'MoM')} silent, though the server shows the nodes as up"
        yield warn("MoMs", f"{text}: {show_first(silent, _SHOWN)}", "look at pbs_mom on these hosts")


def _check_settings(observed: ObservedTorque) -> Iterator[Finding]:
    """What of the settings file is wrong, or has no effect on this server."""
    found = [invalid_setting(problem, observed.policy) for problem in observed.site_problems]
    if "settings" in observed.unseen:
        found.append(unseen("settings", observed.unseen["settings"], AS_ROOT))
    settings, status = observed.applied, observed.server_status
    if settings is not None and status is not None:
        unknown = find_unknown_queues(settings, status.queues)
        found += [warn("settings", text, f"mend {observed.policy}") for text in unknown]
        if drives(settings) and not queues_saved_jobs(settings, status.server):
            wanted = f"set server automatic_requeue_exit_code = {settings.checkpoint.exit_status}"
            text = "jobs that ask for a signal get none, as the server would not queue them again after it"
            found.append(warn("settings", text, qmgr_command(wanted)))
    if not found:
        there = "is valid" if observed.site_settings is not None else "is not there: the built-in settings hold"
        found.append(ok("settings", f"{observed.policy} {there}"))
    yield from found
