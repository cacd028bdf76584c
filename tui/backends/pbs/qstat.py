"""A picture from what ``qstat -f -F json``, ``pbsnodes -F json`` and ``qmgr -c "list .."`` print.

This is the slower way, for a console that cannot load PBS's own library. Nested resources become dotted names and
dates become seconds, so that the picture reads the same as the reader's; a job that is not whole is left out.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from hooks.pbs.status import NAME, Picture, shorten_text
from policy.model.request import DEFAULT_CONSUMABLES
from tui.backends.base import SourceError
from tui.model.typed_attributes import is_subjob

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
_OBJECT = re.compile(r"^(\w+) (\S+)$")
_ATTRIBUTE = re.compile(r"^\s+([\w.]+) = (.*)$")

Texts = dict[str, str]

BUILT_IN: Mapping[str, Texts] = {name: {"flag": "hn"} for name in sorted(DEFAULT_CONSUMABLES)}
"""PBS's own consumables, which ``list resource`` leaves out."""


def read_json(text: str, program: str) -> dict[str, Any]:
    """What a PBS program printed as JSON; control characters in names are let through, other damage is an error."""
    try:
        data = json.loads(text, strict=False)
    except ValueError:
        try:
            data = json.loads(_mended(text), strict=False)
        except ValueError as error:
            raise SourceError(f"{program} printed what is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise SourceError(f"{program} printed JSON that is no object")
    return data


def _mended(text: str) -> str:
    r"""PBS writes some names as they are: a backslash that begins no JSON escape becomes two."""
    return re.sub(r'\\(?!["\\/bfnrtu])', r"\\\\", text)


def read_list(text: str) -> dict[str, Texts]:
    """The objects that ``qmgr -c "list .."`` prints, by name; a line that goes on is joined to the one before."""
    objects: dict[str, Texts] = {}
    current: Texts = {}
    last = ""
    for line in text.splitlines():
        header, attribute = _OBJECT.match(line), _ATTRIBUTE.match(line)
        if header:
            current = objects.setdefault(header.group(2), {})
        elif attribute:
            last = attribute.group(1)
            current[last] = attribute.group(2)
        elif line.startswith("\t") and last in current:
            current[last] += line.strip()
    return objects


def picture_of(
    server: Mapping[str, Any],
    queues: Mapping[str, Any],
    vnodes: Mapping[str, Any],
    jobs: Mapping[str, Any],
    *,
    resources: Mapping[str, Texts],
    scheds: Mapping[str, Texts],
    time_s: float,
) -> Picture:
    """The picture of four JSON answers and two lists."""
    servers = objects(server, "Server")
    name = next(iter(servers), "")
    return Picture(
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
    """The objects of one kind in a JSON answer, by name, their attributes as texts."""
    found = answer.get(key, {})
    if not isinstance(found, dict):
        return {}
    return {str(name): flat(attributes) for name, attributes in found.items() if isinstance(attributes, dict)}


def flat(attributes: Mapping[str, Any]) -> Texts:
    """Attributes as texts, a resource by its dotted name."""
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
