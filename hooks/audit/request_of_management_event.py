"""One request of a manager or operator as PBS hands it to the hook of the ``management`` event, as a line of the audit.

PBS names the requestor from the connection, and each value is one text in JSON, so that nothing in it can begin another
line. What a request gets from the log that any user can write to, this has from the request itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from hooks.pbs.own_switch_values import is_own_switch
from hooks.pbs.reservation_queue_names import is_reservation_queue

MOST_TEXT = 4000
"""The longest command in the audit; a longer one is cut off."""
UNREADABLE = "(a request that PBS could not hand to its hooks; the server's log has it)"
_COMMANDS = {0: "create", 1: "delete", 2: "set", 3: "unset", 7: "import"}
"""PBS's numbers of the commands that change something (``enum mgr_cmd`` in pbs_ifl.h)."""
_OBJECTS = {0: "server", 1: "queue", 3: "node", 5: "resource", 6: "sched", 7: "node", 8: "hook", 9: "pbshook"}
"""PBS's numbers of objects (``enum mgr_obj``); a host is its vnodes."""
_SIGNS = {2: "+=", 3: "-="}
"""PBS's numbers of operators (``enum batch_op``); all others set a value."""
_REFUSED = (15007, 15136, 15004)
"""PBSE_PERM, PBSE_HOOKERROR and PBSE_IVALREQ: nothing was changed, and any user can get these replies."""
_PBS = "pbs_server"
"""The requestor of what PBS's server does by itself. It makes, opens and deletes a queue for each reservation of a
user, whose loop could so push all else out of the audit."""
_ALL = "@default"
"""The name in a request on all objects of a kind is empty; qmgr writes it so."""


def describe_request(event: Any, server: str, may_manage: Callable[[], bool]) -> Mapping[str, str] | None:
    """The entry of this event's request; None if it changes nothing, was refused, is a pass's own switch of a scheduler
    or of the hook of starts, or PBS's own on the queue of a reservation. ``server``: the name of this host;
    ``may_manage``: whether the requestor is a manager or operator."""
    request = getattr(event, "management", None)
    user = str(event.requestor)
    command, stage, time_s, reply = UNREADABLE, "unconfirmed", None, ""
    if request is None:
        # Bytes that are no UTF-8 leave the event without a request, and so without PBS's reply.
        if not may_manage():
            return None
    else:
        code, time_s = int(request.reply_code), float(request.request_time)
        words = _COMMANDS.get(request.cmd), _OBJECTS.get(request.objtype)
        if code in _REFUSED or None in words:
            return None
        if user == _PBS and words[1] == "queue" and is_reservation_queue(str(request.objname or "")):
            return None
        name = request.objname or ("" if words[1] == "server" else _ALL)
        what = " ".join(word for word in (*words, name) if word)
        command = _cut(f"{what} {_show_attributes(str(words[0]), request.attribs)}".rstrip())
        if user == "root" and is_own_switch(command):
            return None
        stage = "failed" if code else "done"
        reply = _cut(str(request.reply_text or f"PBS error {code}")) if code else ""
    return {
        "time": _show_time(time_s),
        "stage": stage,
        "user": user,
        "origin": str(event.requestor_host),
        "server": server,
        "command": command,
        "before": "",
        "after": "",
        "reply": reply,
        "change": "",
        "source": "request",
    }


def as_line(entry: Mapping[str, str]) -> bytes:
    """The entry as a line of the file: ASCII without control characters, whatever the texts are."""
    return (json.dumps(entry) + "\n").encode("ascii")


def _show_attributes(command: str, attributes: Iterable[Any]) -> str:
    shown: list[str] = []
    left = MOST_TEXT
    for each in attributes:
        name, resource, value, operator = each.name, each.resource, str(each.value or ""), each.op
        if command == "import":
            # The other ones are PBS's temporary files.
            text = value if name in ("content-type", "content-encoding") else ""
            shown = [text, *shown] if text else shown
            continue
        whole = f"{name}.{resource}" if resource else str(name)
        text = whole if command == "unset" else f"{whole} {_SIGNS.get(operator, '=')} {value[: left + 1]}"
        shown.append(text)
        left -= len(text)
        if left < 0:
            break
    return (" " if command == "import" else ", ").join(shown)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " ..."


def _show_time(time_s: float | None) -> str:
    at = datetime.now(timezone.utc) if time_s is None else datetime.fromtimestamp(time_s, tz=timezone.utc)
    return at.isoformat(timespec="milliseconds")
