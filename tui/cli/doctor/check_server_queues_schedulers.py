"""Checks what the server's status shows: versions, the mode of each queue, pauses, schedulers, vnodes and clocks."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from hooks.deploy.bundle_hook import VERSION, source_digest
from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PAUSED_ATTRIBUTE
from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.first_host_is_up import MOM_AWAY, STALE, states_of
from hooks.pbs.pause_in_server_attributes import is_stopped, name_pause
from hooks.pbs.scheduler_object_of_queue import find_scheduler, is_down, is_scheduling
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER, ServerStatus, read_whole
from hooks.telemetry.host_reading_format import parse_reading
from policy.model.limit_attributes import LimitError, parse_limits
from policy.model.pbs_units import show_count
from policy.settings.settings_of_server_and_passes import MODES
from tui.backends.pbs.open_hook_deployment import qmgr_command
from tui.cli.doctor.finding import Finding, ok, show_first, unseen, warn, wrong
from tui.cli.doctor.observe_host_and_server import Observed
from tui.cli.version_and_compiled_policy import is_policy_compiled

TESTED_VERSIONS = ("23.06",)
"""The versions of PBS that the project's tests have run on."""

_OTHER_SCHEDULERS = frozenset({"maui", "moab"})
"""Programs that start jobs on a PBS server and are not its own scheduler, by the kernel's name for the process."""

_SKEW_S = 5.0
"""A clock that is further ahead than this is reported: pbsteer's own readings and records have whole seconds."""

_SHOWN = 5
_MOST_QUEUED = "max_queued"


def check_versions(observed: Observed) -> Iterator[Finding]:
    """The versions of pbsteer, of the Python that runs it, and of PBS."""
    text = f"pbsteer {VERSION} {source_digest()}, Python {platform.python_version()}"
    text += ", policy compiled" if is_policy_compiled() else ""
    status = observed.server_status
    if status is None:
        yield ok("versions", text)
        return
    pbs = status.server.get("pbs_version", "")
    tried = "" if pbs.startswith(TESTED_VERSIONS) else f" (pbsteer's tests have run on {', '.join(TESTED_VERSIONS)})"
    yield ok("versions", f"{text}, PBS {pbs or 'of unknown version'}{tried}")


def check_server(observed: Observed) -> Iterator[Finding]:
    """Whether there is a server that answers."""
    status = observed.server_status
    if "PBS" in observed.unseen:
        yield unseen("server", observed.unseen["PBS"], "run pbsteer doctor on a host with PBS, or name --pbs-conf")
    elif status is None:
        yield wrong("server", observed.away, "" if "·" in observed.away else "see that pbs_server runs and answers")
    else:
        yield ok("server", f"{status.server.get('name', '') or 'PBS'} answers, {show_count(len(status.jobs), 'job')}")


def check_queues(status: ServerStatus, modes: Mapping[str, str]) -> Iterator[Finding]:
    """The mode of each execution queue, and a pause."""
    for name, texts in sorted(status.queues.items()):
        mode = texts.get(MODE_ATTRIBUTE, "")
        if mode and mode not in MODES:
            yield wrong(
                "queues",
                f"queue {name} has mode {mode!r} and is taken as observe; allowed are {', '.join(MODES)}",
                f"pbsteer do mode {name} observe --yes",
            )
    shown = [name + ("" if _is_started(status, name) else " (stopped)") + f" {mode}" for name, mode in modes.items()]
    yield ok("queues", ", ".join(shown) or "no execution queue")
    stopped = is_stopped(status) and "drive" not in modes.values()
    paused = name_pause(status, stopped=stopped)
    if paused:
        remedy = qmgr_command("set server scheduling = True") if stopped else "pbsteer resume"
        yield warn("queues", paused, remedy)._replace(shared="pbsteer is paused")


def check_number_of_jobs(status: ServerStatus, modes: Mapping[str, str]) -> Iterator[Finding]:
    """Whether PBS bounds how many jobs may be queued, where passes read them to act (docs/hooks.md, "Bounds")."""
    unbounded = [
        name
        for name, mode in sorted(modes.items())
        if mode != "observe" and not any(_bounds_every_user(texts) for texts in (status.queues[name], status.server))
    ]
    if unbounded:
        shown = show_first(unbounded, _SHOWN)
        text = f"no {_MOST_QUEUED} bounds the jobs of a user in {shown}: each pass reads them all"
        yield warn("queues", text, qmgr_command(f"set server {_MOST_QUEUED} = [u:PBS_GENERIC=5000]"))


def _bounds_every_user(texts: Mapping[str, str]) -> bool:
    """Whether users without an entry of their own are bounded: entries of single users or groups do not bind them."""
    try:
        limits = parse_limits(texts.get(_MOST_QUEUED, ""), _MOST_QUEUED)
    except LimitError:
        return False
    return any(limits.bounds("", "", ""))


def _is_started(status: ServerStatus, queue: str) -> bool:
    return status.queues[queue].get("started", "True") == "True"


def check_schedulers(status: ServerStatus, modes: Mapping[str, str], proc: Path) -> Iterator[Finding]:
    """Whether one scheduler, and only one, starts the jobs of each queue. ``proc``: where the kernel shows the
    processes of this host."""
    found = []
    serving: dict[str | None, list[str]] = {}
    for queue in modes:
        serving.setdefault(find_scheduler(status, queue), []).append(queue)
    for scheduler, queues in serving.items():
        shown = ", ".join(queues)
        if scheduler is None:
            remedy = "give a scheduler the partition of the queue, or the queue that of a scheduler"
            found.append(wrong("schedulers", f"no scheduler serves {shown}", remedy))
        elif is_down(status, scheduler):
            start = "systemctl start pbs" if scheduler == DEFAULT_SCHEDULER else f"pbs_sched -I {scheduler}"
            text, tell = f"no job of {shown} starts", wrong
            if all(modes[queue] == "drive" for queue in queues):
                text = "passes start the jobs, but reservations and suspended jobs would wait for it"
                tell = wrong if scheduler == DEFAULT_SCHEDULER else warn
            found.append(tell("schedulers", f"scheduler {scheduler} is down: {text}", f"on its host: {start}"))
        elif all(modes[queue] == "drive" for queue in queues):
            continue
        elif not is_scheduling(status, scheduler) and not status.server.get(PAUSED_ATTRIBUTE):
            text = f"scheduler {scheduler} is switched off, and pbsteer does not drive {shown}: no job starts"
            found.append(wrong("schedulers", text, qmgr_command(f"set sched {scheduler} scheduling = True")))
        if scheduler is not None and "softlimits" in status.scheds.get(scheduler, {}).get("preempt_prio", ""):
            text = f"scheduler {scheduler} preempts by soft limits too (preempt_prio), by its own rules"
            remedy = f"take the words with softlimits out of preempt_prio of scheduler {scheduler}"
            found.append(warn("schedulers", text, remedy))
    for name in sorted(_find_other_schedulers(proc)):
        text = f"{name} runs on this host, and starts jobs beside PBS's scheduler and pbsteer"
        found.append(wrong("schedulers", text, f"stop {name}, or leave every queue in observe"))
    yield from found or [ok("schedulers", ", ".join(sorted(status.scheds)) or DEFAULT_SCHEDULER)]


def _find_other_schedulers(proc: Path) -> set[str]:
    names = set()
    for path in proc.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # the process has ended
            names.add(path.read_text(encoding="utf-8", errors="replace").strip())
    return names & _OTHER_SCHEDULERS


def check_vnodes(status: ServerStatus) -> Iterator[Finding]:
    """Vnodes whose MoM does not answer, or no longer reports them; a server without any."""
    if not status.vnodes:
        yield warn("MoMs", "the server has no vnodes: no job can start", qmgr_command("create node HOST"))
        return
    all_ = show_count(len(status.vnodes), "vnode")
    states = {name: states_of(texts) for name, texts in sorted(status.vnodes.items())}
    away = [name for name, words in states.items() if not words.isdisjoint(MOM_AWAY)]
    stale = [name for name, words in states.items() if STALE in words]
    if away:
        text = f"of {all_} {len(away):,} do not answer: {show_first(away, _SHOWN)}"
        yield warn("MoMs", text, "start pbs_mom on these hosts; pbsteer vnodes lists them")
    if stale:
        text = f"of {all_} {len(stale):,} are {STALE}, their MoM no longer reports them: {show_first(stale, _SHOWN)}"
        remedy = "have pbs_mom report them again (pbs_mom -s list), or " + qmgr_command("delete node VNODE")
        yield warn("MoMs", text, remedy)
    if not away and not stale:
        yield ok("MoMs", f"all of {all_} answer")


def check_clocks(status: ServerStatus, now_s: float, last_pass_s: float) -> Iterator[Finding]:
    """Clocks that are ahead of this host's: one that is behind looks like a late report. ``last_pass_s``: the time of
    the last pass, 0 for none."""
    found = []
    if last_pass_s - now_s > _SKEW_S:
        found.append(f"the last pass is {last_pass_s - now_s:.0f} s in the future")
    changed_s = max((read_whole(texts.get("ctime", ""), 0) for texts in status.jobs.values()), default=0)
    if changed_s - now_s > _SKEW_S:
        found.append(f"the server's clock is {changed_s - now_s:.0f} s ahead of this host's")
    ahead = {}
    for name, texts in sorted(status.vnodes.items()):
        reading = parse_reading(texts.get(f"resources_available.{READING}", ""))
        if reading is not None and reading.time_s - now_s > _SKEW_S:
            ahead[name] = reading.time_s - now_s
    if ahead:
        hosts = show_first(list(ahead), _SHOWN)
        found.append(f"{show_count(len(ahead), 'host')} up to {max(ahead.values()):.0f} s ahead: {hosts}")
    if found:
        yield wrong("clocks", "; ".join(found), "set the clocks of these hosts by NTP (chronyc tracking)")
    else:
        yield ok("clocks", "no record or reading is from the future")
