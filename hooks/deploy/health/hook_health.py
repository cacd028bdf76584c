"""Judges how the hooks are doing: what needs an administrator, what ends by itself, and what an apply or removal
missed.

This is the judgement behind ``pbsteer hooks status``. All evidence is passed in: the state of the server, PBS's own
record of the MoMs that still wait for a copy, the last pass as published, and our hooks' messages in the server's log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hooks.control.circuit_breaker import CircuitBreaker
from hooks.deploy.bundle_hook import digest_of, source_digest, version_of
from hooks.deploy.deployment_record import RECORD, DeploymentRecord
from hooks.deploy.health.hook_errors_in_log import Complaint, is_fresh
from hooks.deploy.hook_events_alarms_and_order import HOOK_EVENTS, attributes_of, is_switched_by_passes
from hooks.deploy.read_installed_server_state import Hook, Installed, read_applied
from hooks.pbs.custom_resources import RESOURCES
from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import find_waiting_moms
from hooks.pbs.own_switch_values import START_HOOK
from policy.model.pbs_units import show_count, show_duration
from policy.settings.site_settings import Settings

_LATE_INTERVALS = 3
_OTHER = "other"
_DECIDING = "periodic"

_APPLY = "pbsteer hooks plan shows what is missing or changed, pbsteer hooks apply mends it"
_NO_VNODES = 'the server has no vnodes: no job can start; qmgr -c "create node HOST" adds a host with a MoM'
_WAIT_FOR_MOMS = "wait a minute; if that does not help, see that pbs_mom runs on these hosts (pbsnodes -l)"
_READ_STATUS = "pbsteer hooks status shows it in full"
_READ_LOG = 'pbsteer hooks status shows them; tracebacks are in PBS_HOME/server_logs, after "pbsteer: "'
_MEND_COMMAND = "mend alerts.command or its program, then pbsteer hooks alert sends a test"


class HookHealth(NamedTuple):
    """One hook. ``digest`` and ``version``: those of its script; ``waiting``: the MoMs without the present copy;
    ``faults``: sentences; ``may_be_off``: passes switch it off while it is not needed."""

    name: str
    enabled: bool
    version: str
    digest: str
    waiting: tuple[str, ...]
    faults: tuple[str, ...]
    may_be_off: bool = False


class Evidence(NamedTuple):
    """The evidence to judge by. ``record``: the record of the deployment, None if it is lost; ``folder``: whether our
    folder exists; ``tracking``: PBS's own file of that name; ``entry``: the last pass; ``applied_s``: when the hooks'
    present files were written; ``alerts``: the last alerts, empty for none; ``breaker``: whether passes rest."""

    installed: Installed
    record: DeploymentRecord | None = None
    folder: bool = False
    tracking: str = ""
    entry: Mapping[str, Any] = {}
    complaints: Sequence[Complaint] = ()
    applied_s: float = 0.0
    alerts: Mapping[str, Any] = {}
    breaker: CircuitBreaker = CircuitBreaker()


class Health(NamedTuple):
    """The judgement. ``installed``: whether any of our hooks is there; ``last_pass``: empty before the first;
    ``problems``: sentences on what is wrong, empty if all is well; ``hints``: what else is good to know; ``remedies``:
    what to do about a problem, by its sentence, unless the sentence says it."""

    hooks: tuple[HookHealth, ...]
    last_pass: Mapping[str, Any]
    complaints: tuple[Complaint, ...]
    problems: tuple[str, ...]
    hints: tuple[str, ...]
    installed: bool
    alerts: Mapping[str, Any] = {}
    remedies: Mapping[str, str] = {}


def check_health(evidence: Evidence, names: Mapping[str, str], now_s: float) -> Health:
    """Judge the evidence. ``names``: our hooks with their events."""
    installed, entry = evidence.installed, evidence.entry
    waiting = find_waiting_moms(evidence.tracking)
    settings = read_applied(installed)
    hooks = tuple(_check_hook(name, event, installed, waiting.get(name, ()), settings) for name, event in names.items())
    problems: dict[str, str] = {}
    hints: list[str] = []
    if installed.hooks:
        problems.update(_describe_faults(hooks))
        problems.update(dict.fromkeys(_describe_hook_left_off(hooks, evidence, now_s), ""))
        parts = [*_check_resources(installed), *_check_record(evidence)]
        problems.update(dict.fromkeys(parts, _APPLY))
        if parts or len(installed.hooks) < len(names):
            hints.append("what is missing comes with pbsteer hooks apply; pbsteer hooks remove takes the rest out")
        late, coming = _check_pass(evidence, settings or Settings(), now_s)
        problems.update(dict.fromkeys(late, _READ_STATUS))
        hints += coming
        hints += _describe_missing_sensors(evidence.entry)
        hints += [] if installed.has_vnodes else [_NO_VNODES]
        problems.update(_check_alerts(evidence.alerts, settings or Settings()))
    else:
        problems[_describe_leftovers(evidence) or "pbsteer is not installed here: pbsteer hooks plan shows how"] = ""
    errors, settled = _check_complaints(evidence.complaints, now_s, evidence.applied_s)
    problems.update(dict.fromkeys(errors, _READ_LOG))
    hints += settled
    return Health(
        hooks,
        entry,
        tuple(evidence.complaints),
        tuple(problems),
        tuple(hints),
        bool(installed.hooks),
        evidence.alerts,
        {problem: remedy for problem, remedy in problems.items() if remedy},
    )


def _check_hook(
    name: str, event: str, installed: Installed, waiting: tuple[str, ...], settings: Settings | None
) -> HookHealth:
    hook = installed.hooks.get(name)
    if hook is None:
        return HookHealth(name, enabled=False, version="", digest="", waiting=(), faults=("not there",))
    digest = digest_of(hook.script or "")
    may_be_off = settings is not None and is_switched_by_passes(event, settings)
    faults = [] if hook.enabled or may_be_off else ["DISABLED"]
    if digest != source_digest():
        faults.append(f"{digest or 'not ours'}, where this version is {source_digest()}")
    if hook.config is None:
        faults.append("no settings")
    elif hook.config != _config_of_the_pass(installed, hook):
        faults.append("other settings than the pass")
    if settings is not None and hook.event == event:
        faults += [
            f"{key} is {hook.attributes.get(key, 'not set')}, where {right} belongs"
            for key, right in attributes_of(event, settings).items()
            if key != "enabled" and hook.attributes.get(key) != right
        ]
    waiting = waiting if HOOK_EVENTS[event].on_moms else ()
    if waiting:
        shown = ", ".join(waiting[:5]) + (" ..." if len(waiting) > 5 else "")
        faults.append(
            f"{show_count(len(waiting), 'MoM')} {'has' if len(waiting) == 1 else 'have'} an old copy or none ({shown});"
            " PBS sends it once it reaches them"
        )
    return HookHealth(name, hook.enabled, version_of(hook.script or ""), digest, waiting, tuple(faults), may_be_off)


def _describe_faults(hooks: Sequence[HookHealth]) -> Iterator[tuple[str, str]]:
    """The hooks' faults, each with what to do; one that several hooks share is reported once."""
    shared: dict[str, list[str]] = {}
    for hook in hooks:
        for fault in hook.faults:
            shared.setdefault(fault, []).append(hook.name)
    for fault, (first, *others) in shared.items():
        waits = any(hook.waiting and fault == hook.faults[-1] for hook in hooks)
        several = f" and {show_count(len(others), _OTHER)}" if others else ""
        yield f"{first}{several}: {fault}", _WAIT_FOR_MOMS if waits else _APPLY


def _describe_hook_left_off(hooks: Sequence[HookHealth], evidence: Evidence, now_s: float) -> Iterator[str]:
    """The hook of starts, if passes had switched it off before they failed and handed the queues back. Where the last
    one found all queues in ``observe``, the hook has nothing to check."""
    observes = set(evidence.entry.get("modes", {}).values()) == {"observe"}
    if evidence.breaker.is_resting(now_s, evidence.applied_s) and not observes:
        for hook in hooks:
            if hook.name == START_HOOK and hook.may_be_off and not hook.enabled:
                yield (
                    f"{hook.name} is off until the next pass, and PBS's scheduler starts jobs without it; on again:"
                    f' qmgr -c "set hook {hook.name} enabled = true"'
                )


def _config_of_the_pass(installed: Installed, hook: Hook) -> str | None:
    return next((each.config for each in installed.hooks.values() if each.event == _DECIDING), hook.config)


def _check_resources(installed: Installed) -> Iterator[str]:
    missing = [name for name in RESOURCES if name not in installed.resources]
    if missing:
        yield f"{show_count(len(missing), 'resource')} {_are(len(missing))} not there: {', '.join(missing)}"
    for name, resource in installed.resources.items():
        right = RESOURCES[name]
        if resource.kind != right.kind:
            yield f"resource {name} is of type {resource.kind}, where {right.kind} belongs"
        elif not resource.has_flags(right.flag):
            yield f"resource {name} has {_describe_flag(resource.flag)}, where {_describe_flag(right.flag)} belongs"


def _describe_flag(flag: str) -> str:
    return f"flag {flag}" if flag else "no flag"


def _check_record(evidence: Evidence) -> Iterator[str]:
    if evidence.record is None:
        yield f"{RECORD} is not there, which says what pbsteer made in the server"


def _describe_leftovers(evidence: Evidence) -> str:
    """What a removal has left, or an apply begun, if no hook is there; empty for nothing."""
    made = evidence.record.made if evidence.record is not None else ()
    resources = sorted(name for name in evidence.installed.resources if name in made)
    left = [f"{show_count(len(resources), 'resource')} ({', '.join(resources)})"] if resources else []
    left += ["the folder in PBS_HOME"] if evidence.folder else []
    if not left:
        return ""
    return (
        f"no hook is in the server, but of pbsteer there still is: {', '.join(left)}. An apply or a removal did"
        " not finish: pbsteer hooks apply or remove continues it"
    )


def _check_pass(evidence: Evidence, settings: Settings, now_s: float) -> tuple[list[str], list[str]]:
    """What is wrong with the last pass, and what ends by itself."""
    entry, applied_s, breaker = evidence.entry, evidence.applied_s, evidence.breaker
    schedule = settings.schedule
    longest_s = _LATE_INTERVALS * schedule.interval_s + schedule.budget_s
    due = f"one is due every {schedule.interval_s} s"
    age_s = now_s - float(entry.get("time_s", 0.0))
    if age_s > longest_s and now_s - applied_s <= longest_s:
        return [], [f"the hooks were applied {max(0, now_s - applied_s):.0f} s ago, and no pass has been since: {due}"]
    rested_s = now_s - breaker.rest_end_s
    if breaker.rest_began_s and 0 <= rested_s <= longest_s:
        return [], [f"the rest of the passes ended {rested_s:.0f} s ago, and no pass has been since: {due}"]
    resting = breaker.is_resting(now_s, applied_s)
    if not entry:
        return [_describe_rest(breaker, now_s) if resting else f"no pass has been seen yet, where {due}"], []
    found = []
    if resting:
        found.append(_describe_rest(breaker, now_s))
    elif age_s > longest_s:
        found.append(f"the last pass was {age_s:.0f} s ago, where {due}")
    elif -age_s > longest_s:
        found.append(describe_future_pass(-age_s))
    passing = list(entry.get("passing", ()))
    paused = str(entry.get("paused", ""))
    if paused:
        found.append(paused)
    elif not passing:
        acted = entry.get("acted", ())
        found += [
            f"queue {queue} is in drive, and is not driven"
            for queue, mode in sorted(entry.get("modes", {}).items())
            if mode == "drive" and queue not in acted
        ]
    # A pass with very many remarks records only the first. A pause is one of them.
    remarks = int(entry.get("noted", len(entry.get("notes", ())))) - len(passing) - bool(paused)
    if remarks > 0:
        found.append(f"the last pass has {show_count(remarks, 'remark')}, see above")
    failures = entry.get("failures", ())
    if failures:
        found.append(f"of the last pass {show_count(len(failures), 'request')} failed, see above")
    return found, passing


def describe_future_pass(ahead_s: float) -> str:
    """Why no pass comes where the last one is so many seconds in the future."""
    return (
        f"the last pass is {show_duration(ahead_s)} in the future: the clock was set back, and PBS may make no pass"
        " before that time; a restart of pbs_server ends that"
    )


def _describe_missing_sensors(entry: Mapping[str, Any]) -> list[str]:
    """What vnodes do not report although the last pass ranks by it: the host has no sensor for it."""
    hints = []
    for quantity, silent in entry.get("no_sensor", {}).items():
        more = ", ..." if silent["vnodes"] > len(silent["first"]) else ""
        vnodes = f"{show_count(silent['vnodes'], 'vnode')} ({', '.join(silent['first'])}{more})"
        what = "reports" if silent["vnodes"] == 1 else "report"
        hints.append(f"{vnodes} {what} no {quantity}: ranked by what else a mode uses, behind equal vnodes")
    return hints


def _describe_rest(breaker: CircuitBreaker, now_s: float) -> str:
    began, end = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment_s))
        for moment_s in (breaker.rest_began_s, breaker.rest_end_s)
    )
    left = show_duration(breaker.rest_end_s - now_s)
    return (
        f"passes rest since {began} until {end} ({left} left), as too many in a row have failed: pbsteer starts and"
        " preempts no job meanwhile. pbsteer hooks apply ends the rest early if it changes the hooks or their settings;"
        " the errors in the server's log say what has to be mended"
    )


def _check_alerts(alerts: Mapping[str, Any], settings: Settings) -> Iterator[tuple[str, str]]:
    if alerts.get("lasting"):
        yield f"an alert lasts ({', '.join(alerts['lasting'])}), see above", _READ_STATUS
    if alerts.get("command_problem") and settings.alerts.command:
        failed = f"the command for alerts failed: {settings.alerts.command[0]}: {alerts['command_problem']}"
        yield failed, _MEND_COMMAND


def _check_complaints(complaints: Sequence[Complaint], now_s: float, applied_s: float) -> tuple[list[str], list[str]]:
    """The errors of the last hour: those of the present hooks, and those from before these were applied, which are no
    problem any more. A time of apply in the future, from a clock that was set back, does not count."""
    fresh = [complaint for complaint in complaints if is_fresh(complaint, now_s)]
    # The log has whole seconds.
    begun_s = int(applied_s) if applied_s <= now_s else 0
    present = sum(complaint.at_s >= begun_s for complaint in fresh)
    past = len(fresh) - present
    errors = [f"{show_count(present, 'error')} in the server's log {_are(present)} less than an hour old"]
    settled = [
        f"{show_count(past, 'error')} of the last hour in the server's log {_are(past)} from before the hooks were"
        " applied as they are now"
    ]
    return errors if present else [], settled if past else []


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
