"""``pbsteer hooks status`` in words: the hooks, the queues' modes, the last pass, the last errors, and what to do.

:mod:`hooks.deploy.health.hook_health` decides what is wrong; this module reads the evidence and shows the result.
"""

from __future__ import annotations

import contextlib
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.alerts.pass_alerts import describe_alerts
from hooks.control.circuit_breaker import CircuitBreaker
from hooks.deploy.bundle_hook import source_digest
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.deployment_record import RECORD, DeploymentRecord
from hooks.deploy.health.hook_errors_in_log import is_fresh, read_complaints
from hooks.deploy.health.hook_health import Evidence, Health, check_health
from hooks.deploy.hook_names import hooks_of
from hooks.deploy.read_installed_server_state import read_applied
from hooks.pbs.custom_resources import MODE
from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import read_tracking
from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy.model.pbs_units import show_count, show_duration

_SHOWN_ERRORS = 10
_PASS = "pbsteer_periodic"  # noqa: S105 - a pass over the server


def read_health(deployment: Deployment, home: Path, now_s: float) -> Health:
    """The health of the hooks in the server with this PBS_HOME. Raises
    :class:`hooks.deploy.read_installed_server_state.DeployError`, or OSError for a log that cannot be read.
    """
    folder = state_folder(str(home))
    evidence = Evidence(
        deployment.read(),
        DeploymentRecord.read(folder / RECORD),
        folder.exists(),
        read_tracking(home),
        State(folder).read_published(LAST_PASS),
        read_complaints(home / "server_logs", now_s),
        _read_applied_s(home),
        describe_alerts(State(folder)),
        CircuitBreaker.read(State(folder)),
    )
    return check_health(evidence, hooks_of(read_applied(evidence.installed)), now_s)


def describe_health(health: Health, now_s: float) -> Iterator[str]:
    """The health as lines for administrators."""
    width = max(len(hook.name) for hook in health.hooks)
    for hook in health.hooks if health.installed else ():
        off = "off, as passes switch it" if hook.may_be_off else "DISABLED"
        state = f"{'enabled' if hook.enabled else off}, {hook.version} {hook.digest}".rstrip()
        known = ", this version" if hook.digest == source_digest() else ""
        yield f"{hook.name:<{width}} " + (state + known if hook.digest or hook.enabled else "not there or not ours")
    # The last pass of hooks that were removed does not describe the present.
    yield from describe_last_pass(health.last_pass, now_s) if health.installed else ("hooks: none in this server",)
    fresh = sum(is_fresh(complaint, now_s) for complaint in health.complaints)
    counts = f"{len(health.complaints):,}, {fresh:,} of them in the last hour" if health.complaints else "none"
    yield f"errors in today's server log: {counts}"
    hidden = len(health.complaints) - _SHOWN_ERRORS
    if hidden > 0:
        yield f"  ... {hidden:,} before these"
    yield from (f"  {complaint.show()}" for complaint in health.complaints[-_SHOWN_ERRORS:])
    yield from _describe_last_alert(health.alerts) if health.installed else ()
    if health.hints:
        yield "good to know:"
        yield from (f"  {sentence}" for sentence in health.hints)
    yield "needs attention:" if health.problems else "all is well"
    yield from (f"  {sentence}" for sentence in health.problems)


def fold(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines folded at ``width``, continued with two more blanks of indent; 0: as they are."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        if width and len(line) > width:
            yield from textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False)
        else:
            yield line


def health_as_data(health: Health, now_s: float) -> dict[str, Any]:
    """The health as plain data for JSON."""
    entry = {key: value for key, value in health.last_pass.items() if key not in ("settings", "ledger")}
    return {
        "well": not health.problems,
        "problems": list(health.problems),
        "hints": list(health.hints),
        "hash": source_digest(),
        "hooks": [hook._asdict() for hook in health.hooks],
        "last_pass": entry or None,
        "last_alert": dict(health.alerts) or None,
        "last_pass_age_s": round(now_s - entry["time_s"], 1) if entry else None,
        "errors": [complaint.show() for complaint in health.complaints[-_SHOWN_ERRORS:]],
        "errors_today": len(health.complaints),
        "errors_last_hour": sum(is_fresh(complaint, now_s) for complaint in health.complaints),
    }


def describe_last_pass(entry: Mapping[str, Any], now_s: float) -> list[str]:
    """The queues' modes, and what the last pass read and did."""
    if not entry:
        return ["last pass: none has been seen"]
    lines = [f"{'queue':<20} mode ({MODE})"]
    lines += [
        f"  {queue:<18} {mode}" + (", not driven: see below" if mode == "drive" and queue not in entry["acted"] else "")
        for queue, mode in sorted(entry["modes"].items())
    ]
    seconds = sum(entry["seconds"].values())
    age_s = now_s - entry["time_s"]
    when = f"{show_duration(age_s)} ago" if age_s > -1 else f"{show_duration(-age_s)} in the future"
    lines += [
        f"last pass: {when}, took {seconds:.2f} s;"
        f" {show_count(entry['running'], 'job')} running, {entry['waiting']:,} waiting",
        f"  planned: {show_count(len(entry['starts']), 'start')}, {show_count(len(entry['preempts']), 'preemption')}",
        f"  done: {show_count(len(entry['started']), 'start')},"
        f" {show_count(len(entry.get('preempted', ())), 'preemption')}"
        f" ({show_count(len(entry['requeued']), 'requeue')}, {len(entry.get('asked', ())):,} asked to save)",
    ]
    did = entry.get("did")
    if did and (did["starts"] or did["preempts"]):
        lines.append(
            f"  done since {_moment(did['since_s'])}: {show_count(did['starts'], 'start')},"
            f" {show_count(did['preempts'], 'preemption')}"
        )
    would = entry.get("would")
    observes = any(mode == "observe" for mode in entry["modes"].values())
    if would and (observes or would["starts"] or would["preempts"]):
        since = _moment(would["since_s"])
        left = f"left to PBS's scheduler by the mode, since {since}:"
        lines += [
            f"  {f'left: pbsteer is paused; since {since}' if entry.get('paused') else left} it would have started",
            f"  {show_count(would['starts'], 'job')} and preempted {would['preempts']:,}",
        ]
    passing = entry.get("passing", ())
    lines += [f"  {note}" for note in [*entry["notes"], *entry["failures"]] if note not in passing]
    return lines


def _moment(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))


def _describe_last_alert(alerts: Mapping[str, Any]) -> Iterator[str]:
    if alerts:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(alerts["time_s"])))
        unsent = f" (not in syslog: {alerts['syslog']})" if alerts.get("syslog") else ""
        yield f"last alert: {at}{unsent}"
        yield f"  {alerts['text']}"


def _read_applied_s(home: Path) -> float:
    """When the hooks or their settings were last applied, in seconds since 1970; 0 where there are none."""
    applied_s = 0.0
    for suffix in ("PY", "CF"):
        with contextlib.suppress(OSError):
            applied_s = max(applied_s, (home / "server_priv" / "hooks" / f"{_PASS}.{suffix}").stat().st_mtime)
    return applied_s
