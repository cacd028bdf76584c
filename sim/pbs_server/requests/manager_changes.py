"""Managers' changes on a simulated server: queues, vnodes, schedulers, resources and the server itself.

One request is for one object, and makes all its changes or, where one is refused, none. PBS's qmgr and `pbs_manager`
both end in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from sim.pbs_server.objects.attributes import (
    QUEUE,
    SCHEDULER,
    SERVER,
    VNODE,
    Attribute,
    Kind,
    Table,
    check_value,
    find_attribute,
    read_entries,
    show_entries,
)
from sim.pbs_server.objects.errors import (
    BAD_VALUE,
    BUSY,
    DUPLICATE,
    INVALID_REQUEST,
    NODE_EXISTS,
    QUEUE_EXISTS,
    READ_ONLY,
    SCHEDULER_EXISTS,
    SCHEDULER_STAYS,
    UNKNOWN_QUEUE,
    UNKNOWN_RESOURCE,
    UNKNOWN_SCHEDULER,
    PbsError,
)
from sim.pbs_server.objects.vnodes import SimVnode
from sim.pbs_server.server import SimServer


class Command(Enum):
    """The commands, with PBS's numbers."""

    CREATE = 0
    DELETE = 1
    SET = 2
    UNSET = 3


class Object(Enum):
    """The kinds of objects, with PBS's numbers."""

    SERVER = 0
    QUEUE = 1
    NODE = 3
    RSC = 5
    SCHED = 6


class Operation(Enum):
    """How a value is combined with the present one, with PBS's numbers."""

    SET = 0
    UNSET = 1
    INCR = 2
    DECR = 3


class Change(NamedTuple):
    """One attribute, with a resource where it has one value for each, and the value to set, add or remove."""

    attribute: str
    resource: str
    value: str
    operation: Operation


TABLES: Mapping[Object, Table] = {
    Object.SERVER: SERVER,
    Object.QUEUE: QUEUE,
    Object.NODE: VNODE,
    Object.SCHED: SCHEDULER,
}
_RESOURCE_TYPES = ("long", "size", "float", "string", "string_array", "boolean")


def manage(server: SimServer, command: Command, kind: Object, name: str, changes: Sequence[Change]) -> None:
    """Execute one request; PbsError where the server refuses it."""
    if kind is Object.RSC:
        _manage_resource(server, command, name, changes)
    elif command is Command.CREATE:
        _create(server, kind, name, changes)
    elif command is Command.DELETE:
        _delete(server, kind, name)
    else:
        _change(server, kind, name, command, changes)


def find_texts(server: SimServer, kind: Object, name: str) -> dict[str, str]:
    """The attributes of an object that can be set, not those that the server computes; PbsError if there is no such
    object.
    """
    if kind is Object.SERVER:
        return server.texts
    if kind is Object.NODE:
        return server.find_vnode(name).texts
    objects, missing = (server.queues, UNKNOWN_QUEUE) if kind is Object.QUEUE else (server.scheds, UNKNOWN_SCHEDULER)
    if name not in objects:
        raise PbsError(missing)
    return objects[name]


def _change(server: SimServer, kind: Object, name: str, command: Command, changes: Sequence[Change]) -> None:
    texts = find_texts(server, kind, name)
    result = dict(texts)
    vnode = server.vnodes[name] if kind is Object.NODE else None
    offline = vnode.offline if vnode else False
    for change in changes:
        attribute = find_attribute(TABLES[kind], change.attribute)
        if not attribute.writable:
            raise PbsError(READ_ONLY, attribute.name)
        if command is Command.UNSET:
            _unset(result, attribute, change.resource, server)
        elif attribute.kind is Kind.STATE:
            offline = _change_offline(change, offline)
        else:
            key = f"{attribute.name}.{change.resource}" if change.resource else attribute.name
            result[key] = _merge(attribute, change, result.get(key, ""), server)
            if attribute.name == "queue_type":
                result[key] = _check_queue_type(change.value)
            if not result[key]:
                del result[key]
            _check_default_queue(server, kind, key, result.get(key, ""))
    if vnode is not None:
        vnode.change(result, offline, server.clock.now_s)
        return
    texts.clear()
    texts.update(result)
    _follow_scheduling(server, kind, name)


def _merge(attribute: Attribute, change: Change, before: str, server: SimServer) -> str:
    """The new text. Adding to a limit replaces entries of the same entity; removing requires the same entity and
    value.
    """
    value = check_value(attribute, change.resource, change.value, server.resources)
    if change.operation is Operation.SET:
        return value
    if attribute.kind in (Kind.LIMITS, Kind.RESOURCE_LIMITS):
        entries = read_entries(before, attribute.name) if before else {}
        given = read_entries(value, attribute.name)
        if change.operation is Operation.INCR:
            return show_entries({**entries, **given})
        return show_entries({entity: limit for entity, limit in entries.items() if given.get(entity) != limit})
    if attribute.kind is Kind.NUMBER:
        step = int(value) if change.operation is Operation.INCR else -int(value)
        return str(int(before or "0") + step)
    raise PbsError(BAD_VALUE)


def _unset(texts: dict[str, str], attribute: Attribute, resource: str, server: SimServer) -> None:
    if resource and resource not in server.resources:
        raise PbsError(UNKNOWN_RESOURCE, f"{attribute.name}.{resource}")
    wanted = f"{attribute.name}.{resource}" if resource else attribute.name
    for key in [key for key in texts if key == wanted or (not resource and key.partition(".")[0] == wanted)]:
        del texts[key]


def _change_offline(change: Change, offline: bool) -> bool:
    states = {state.strip() for state in change.value.split(",")}
    if not states <= {"offline", "free"}:
        raise PbsError(BAD_VALUE)
    if change.operation is Operation.SET:
        return "offline" in states
    return (change.operation is Operation.INCR) if "offline" in states else offline


def _check_queue_type(text: str) -> str:
    for kind in ("Execution", "Route"):
        if text and kind.lower().startswith(text.lower()):
            return kind
    raise PbsError(BAD_VALUE)


def _check_default_queue(server: SimServer, kind: Object, key: str, value: str) -> None:
    if kind is Object.SERVER and key == "default_queue" and value not in server.queues:
        raise PbsError(UNKNOWN_QUEUE)


def _follow_scheduling(server: SimServer, kind: Object, name: str) -> None:
    """Keep the server's `scheduling` and the default scheduler's equal."""
    if kind is Object.SERVER:
        server.scheds["default"]["scheduling"] = server.texts.get("scheduling", "False")
    elif kind is Object.SCHED and name == "default":
        server.texts["scheduling"] = server.scheds["default"]["scheduling"]


def _create(server: SimServer, kind: Object, name: str, changes: Sequence[Change]) -> None:
    now_s = server.clock.now_s
    if kind is Object.QUEUE:
        if name in server.queues:
            raise PbsError(QUEUE_EXISTS)
        server.queues[name] = {"enabled": "False", "started": "False"}
    elif kind is Object.NODE:
        if name in server.vnodes:
            raise PbsError(NODE_EXISTS)
        server.vnodes[name] = SimVnode(name, {"Mom": name, "ntype": "PBS", "sharing": "default_shared"}, now_s)
    elif kind is Object.SCHED:
        if name in server.scheds:
            raise PbsError(SCHEDULER_EXISTS)
        server.scheds[name] = {"scheduling": "False", "scheduler_iteration": "600", "state": "down"}
    else:
        raise PbsError(INVALID_REQUEST)
    try:
        _change(server, kind, name, Command.SET, changes)
    except PbsError:
        _objects(server, kind).pop(name)
        raise


def _delete(server: SimServer, kind: Object, name: str) -> None:
    if kind is Object.SERVER:
        raise PbsError(INVALID_REQUEST)
    find_texts(server, kind, name)
    if kind is Object.SCHED and name == "default":
        raise PbsError(SCHEDULER_STAYS)
    if kind is Object.NODE and server.vnodes[name].jobs:
        raise PbsError(BUSY)
    if kind is Object.QUEUE and any(job.state != "F" and job.texts["queue"] == name for job in server.jobs.values()):
        raise PbsError(BUSY)
    _objects(server, kind).pop(name)


def _objects(server: SimServer, kind: Object) -> dict[str, dict[str, str]] | dict[str, SimVnode]:
    if kind is Object.NODE:
        return server.vnodes
    return server.queues if kind is Object.QUEUE else server.scheds


def _manage_resource(server: SimServer, command: Command, name: str, changes: Sequence[Change]) -> None:
    known = name in server.resources
    if command is Command.CREATE and known:
        raise PbsError(DUPLICATE)
    if command is not Command.CREATE and not known:
        raise PbsError(UNKNOWN_RESOURCE)
    if command is Command.DELETE:
        del server.resources[name]
        for texts in (server.texts, *server.queues.values()):
            for key in _keys_of(texts, name):
                del texts[key]
        for vnode in server.vnodes.values():
            gone = _keys_of(vnode.texts, name)
            kept = {key: text for key, text in vnode.texts.items() if key not in gone}
            vnode.change(kept, vnode.offline, server.clock.now_s)
        return
    kind, flag = server.resources.get(name, ("string", ""))
    for change in changes:
        if change.attribute == "type" and change.value in _RESOURCE_TYPES:
            kind = change.value
        elif change.attribute == "flag" and set(change.value) <= set("nfhqirm"):
            flag = change.value
        else:
            raise PbsError(BAD_VALUE)
    server.resources[name] = (kind, flag)


def _keys_of(texts: Mapping[str, str], resource: str) -> list[str]:
    return [key for key in texts if key.partition(".")[2] == resource]
