"""The archive for support: the findings, settings, hooks, queues and passes, without secrets and without users' names.

Users, groups and projects have pseudonyms, the same ones throughout a bundle; jobs, their names, paths and variables,
``alerts.command``, reasons of a pause, and texts of errors are not in it.
"""

from __future__ import annotations

import collections
import contextlib
import grp
import io
import json
import os
import pwd
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.pbs.server_status_type_and_attributes import QUEUE_ATTRIBUTES, SERVER_ATTRIBUTES, ServerStatus
from policy.settings.settings_of_server_and_passes import AlertSettings
from policy.settings.site_settings import Settings
from tui.cli.doctor.finding import Finding
from tui.cli.doctor.observe_host_and_server import Observed
from tui.cli.doctor.pseudonyms import Pseudonyms

_README = """\
A bundle of pbsteer doctor, for those who help with it.

findings.json  what was looked at and found
settings.json  the settings that the hooks run with, without alerts.command
server.json    versions, server and queues with their limits, vnodes and jobs by state
hooks.json     the hooks: enabled, version, hash, MoMs that wait for a copy, kinds of errors with their times
passes.json    the last passes: times, counts, reasons that jobs wait for, by number

Users are user1, user2, ..., groups group1, ..., projects project1, ...; the same one is the same throughout.
Names of hosts, vnodes and queues are as they are. Jobs, their names, paths and variables are not here.
"""

_FIRST_ORDINARY_ID = 1000
_NOBODY = 65534
_ERROR = re.compile(r"\b\w+(?:Error|Exception|Interrupt)\b")
_SENTENCES = ("text", "do")
_NOT_SHARED = ("managers", "operators", "acl_users")
_NUMBERS = ("time_s", "early", "waiting", "running", "idle_cores", "noted")
_COUNTS = ("starts", "started", "preempts", "preempted", "requeued", "asked", "failures", "notes", "acted")


def write_bundle(path: Path, observed: Observed, findings: Sequence[Finding]) -> None:
    """Write the archive (tar, gzip) to a new file that only this user may read. Raises OSError, also for a file that is
    there already; a file that cannot be written whole is removed."""
    members = bundle_members(observed, findings)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in members.items():
                data = text.encode("utf-8", "replace")
                member = tarfile.TarInfo(f"pbsteer-doctor/{name}")
                member.size, member.mode, member.mtime = len(data), 0o600, int(observed.now_s)
                archive.addfile(member, io.BytesIO(data))
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def bundle_members(observed: Observed, findings: Sequence[Finding]) -> dict[str, str]:
    """The files of the archive: their texts by name."""
    names = Pseudonyms()
    _learn_names(names, observed)
    shown = [_with_pseudonyms(finding, names) for finding in findings]
    parts: dict[str, Any] = {
        "settings.json": _settings(observed.applied),
        "server.json": _server(observed.server_status),
        "hooks.json": _hooks(observed),
        "passes.json": [_numbers_of_pass(entry) for entry in observed.passes or ()],
    }
    parts = {"findings.json": shown, **{name: names.replace_in(data) for name, data in parts.items()}}
    texts = {name: json.dumps(data, indent=1, sort_keys=True) + "\n" for name, data in parts.items()}
    return {"README": _README, **texts}


def _with_pseudonyms(finding: Finding, names: Pseudonyms) -> dict[str, Any]:
    """Its sentences with pseudonyms. A user may be called ``wrong``: what a level is called is no name."""
    data = (finding if finding.shared is None else finding._replace(text=finding.shared)).to_data()
    return {name: names.replace_in(value) if name in _SENTENCES else value for name, value in data.items()}


def _learn_names(names: Pseudonyms, observed: Observed) -> None:
    """All names that this host or the server knows: those in use first, then the accounts of this host."""
    status = observed.server_status
    if status is not None:
        for texts in (status.server, *status.queues.values()):
            for text in texts.values():
                names.learn_from(text)
        for texts in (*status.jobs.values(), *status.reservations.values()):
            owners = (texts.get("Job_Owner", ""), texts.get("Reserve_Owner", ""))
            names.learn("user", [texts.get("euser", ""), *(owner.partition("@")[0] for owner in owners)])
            names.learn("group", [texts.get("egroup", "")])
            names.learn("project", [texts.get("project", "")])
    if observed.applied is not None and observed.applied.server.journal_group:
        names.learn("group", [observed.applied.server.journal_group])
    for entry in observed.passes or ():
        names.learn("user", _users_of_pass(entry))
    names.learn("user", [each.pw_name for each in pwd.getpwall() if _is_ordinary(each.pw_uid)])
    names.learn("group", [each.gr_name for each in grp.getgrall() if _is_ordinary(each.gr_gid)])


def _users_of_pass(entry: Mapping[str, Any]) -> Iterator[str]:
    for value in entry.values():
        for part in value if isinstance(value, list) else ():
            if isinstance(part, Mapping) and isinstance(part.get("user"), str):
                yield part["user"]


def _is_ordinary(number: int) -> bool:
    return number >= _FIRST_ORDINARY_ID and number != _NOBODY


def _settings(settings: Settings | None) -> Mapping[str, Any]:
    if settings is None:
        return {}
    cluster = replace(settings.cluster, paused="")
    return replace(
        settings, alerts=replace(settings.alerts, command=AlertSettings().command), cluster=cluster
    ).to_data()


def _server(status: ServerStatus | None) -> Mapping[str, Any]:
    if status is None:
        return {}
    of_server, of_queues = (
        [name for name in names if name not in _NOT_SHARED] for names in (SERVER_ATTRIBUTES, QUEUE_ATTRIBUTES)
    )
    return {
        "server": _some(status.server, of_server),
        "queues": {name: _some(texts, of_queues) for name, texts in status.queues.items()},
        "schedulers": {
            name: _some(texts, ("scheduling", "partition", "state", "preempt_prio"))
            for name, texts in status.scheds.items()
        },
        "vnodes_by_state": _count(texts.get("state", "") for texts in status.vnodes.values()),
        "jobs_by_state": _count(texts.get("job_state", "") for texts in status.jobs.values()),
        "reservations": len(status.reservations),
    }


def _some(texts: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The attributes of these names, resources of such an attribute too."""
    return {name: text for name, text in texts.items() if name.partition(".")[0] in names and "paused" not in name}


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(collections.Counter(values))


def _hooks(observed: Observed) -> Mapping[str, Any]:
    health = observed.health
    if health is None:
        return {}
    return {
        "hooks": [hook._asdict() for hook in health.hooks],
        "errors": [
            {"at_s": complaint.at_s, "kinds": sorted(set(_ERROR.findall(complaint.text)))}
            for complaint in health.complaints[-100:]
        ],
    }


def _numbers_of_pass(entry: Mapping[str, Any]) -> dict[str, Any]:
    waits = entry.get("waits")
    reasons = [part for part in waits if isinstance(part, Mapping)] if isinstance(waits, list) else []
    return {
        **{name: entry[name] for name in _NUMBERS if isinstance(entry.get(name), (int, float))},
        **{name: len(entry[name]) for name in _COUNTS if isinstance(entry.get(name), (list, dict))},
        "seconds": entry.get("seconds"),
        "modes": entry.get("modes"),
        "waits": {str(part.get("code")): part.get("jobs", part.get("count")) for part in reasons},
    }
