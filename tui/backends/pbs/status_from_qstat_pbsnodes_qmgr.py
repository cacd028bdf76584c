"""The server status from the output of ``qstat -f -F json``, ``pbsnodes -F json`` and ``qmgr -c "list .."``, for a
console that cannot load PBS's library.

Nested resources become dotted names and dates become seconds, as in the reader's status. Subjobs that have not started
are left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from hooks.pbs.files_and_output import json_output
from hooks.pbs.job_attributes.job_ids_and_states import is_subjob
from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus, shorten_text
from policy.model.job_request import DEFAULT_CONSUMABLES
from tui.backends.interface.backend_protocol import BackendError

_MOMENTS = frozenset(
    {
        "ctime",
        "qtime",
        "etime",
        "stime",
        "mtime",
        "Execution_Time",
        "eligible_since",
        "estimated.start_time",
        "last_state_change_time",
        "obittime",
        "history_timestamp",
    }
)
_STARTED = frozenset("RESU")

Texts = dict[str, str]

BUILT_IN: Mapping[str, Texts] = {name: {"flag": "hn"} for name in sorted(DEFAULT_CONSUMABLES)}
"""PBS's built-in consumables, which ``list resource`` does not show."""


def read_json(text: str, program: str) -> dict[str, Any]:
    """A program's JSON output. Raises :class:`BackendError`."""
    try:
        return json_output.read_json(text, program)
    except ValueError as error:
        raise BackendError(str(error)) from error


def server_status_from(
    server: Mapping[str, Any],
    queues: Mapping[str, Any],
    vnodes: Mapping[str, Any],
    jobs: Mapping[str, Any],
    *,
    resources: Mapping[str, Texts],
    scheds: Mapping[str, Texts],
    time_s: float,
) -> ServerStatus:
    """The server status from four JSON replies and two lists."""
    servers = objects(server, "Server")
    name = next(iter(servers), "")
    return ServerStatus(
        time_s,
        {NAME: name, **servers.get(name, {})},
        objects(queues, "Queue"),
        objects(vnodes, "nodes"),
        {
            job_id: texts
            for job_id, texts in objects(jobs, "Jobs").items()
            if texts.get("job_state", "") in _STARTED or not is_subjob(job_id)
        },
        resources,
        scheds,
    )


def objects(answer: Mapping[str, Any], key: str) -> dict[str, Texts]:
    """The objects of one kind in a JSON reply, by name, with attributes as texts."""
    found = answer.get(key, {})
    if not isinstance(found, dict):
        return {}
    return {str(name): flat(attributes) for name, attributes in found.items() if isinstance(attributes, dict)}


def flat(attributes: Mapping[str, Any]) -> Texts:
    """Attributes as texts, resources under dotted names."""
    texts: Texts = {}
    for name, value in attributes.items():
        if isinstance(value, dict):
            keys = {f"{name}.{resource}": amount for resource, amount in value.items()}
            texts.update({key: shorten_text(key, _text(name, amount)) for key, amount in keys.items()})
        else:
            texts[name] = shorten_text(name, _text(name, value))
    return texts


def _text(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    text = str(value)
    if name in _MOMENTS and not text.isdigit():
        try:
            return str(int(time.mktime(time.strptime(text))))
        except (ValueError, OverflowError):
            return text
    return text
