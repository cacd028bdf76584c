"""qmgr on a simulated server: one line in; out come the output of PBS's qmgr and whether the line was accepted.

Reads `create`, `delete`, `set`, `unset`, `list` and `print` on server, queue, node, sched and resource, with `=`, `+=`
and `-=`, several attributes and several names by commas. Messages are those of a running OpenPBS 23.06.06.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sim.pbs_server.objects.attributes import BUILT_IN_RESOURCES, Kind, Table, find_attribute
from sim.pbs_server.objects.errors import UNDEFINED_ATTRIBUTE, UNKNOWN_RESOURCE, PbsError
from sim.pbs_server.requests.manager_changes import TABLES, Change, Command, Object, Operation, manage
from sim.pbs_server.requests.status_requests import Stat, stat_queues, stat_scheds, stat_server, stat_vnodes
from sim.pbs_server.server import SimServer

_VERBS = ("active", "create", "delete", "set", "unset", "list", "print", "import", "export", "quit", "help")
_KINDS: Mapping[str, Object] = {
    "server": Object.SERVER, "queue": Object.QUEUE, "node": Object.NODE, "vnode": Object.NODE, "sched": Object.SCHED,
    "resource": Object.RSC,
}  # fmt: skip
_TITLES = {Object.SERVER: "Server", Object.QUEUE: "Queue", Object.NODE: "Node", Object.SCHED: "Sched",
           Object.RSC: "Resource"}  # fmt: skip
_WORDS = {Object.SERVER: "server", Object.QUEUE: "queue", Object.NODE: "node", Object.SCHED: "sched",
          Object.RSC: "resource"}  # fmt: skip
_OPERATORS = {"=": Operation.SET, "+=": Operation.INCR, "-=": Operation.DECR}
_NAME = re.compile(r"\s*([A-Za-z_][\w-]*)(?:\.([\w.-]+))?\s*")
_OPERATOR = re.compile(r"\s*(\+=|-=|=)\s*")
_VALUE = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\[[^\[\],\s]*\])(?=\s*(?:,|$))|([^,=\s\[\"']+)")
_NEEDS_QUOTES = re.compile(r"[\s,]")


class Reply(NamedTuple):
    """The reply of qmgr: `text` is its output, or its error message where `ok` is False."""

    ok: bool
    text: str


class _QmgrError(Exception):
    """A line that qmgr itself refuses, before it reaches the server."""


class _Line(NamedTuple):
    verb: str
    kind: Object
    names: tuple[str, ...]
    rest: str
    position: int


def run_line(server: SimServer, line: str) -> Reply:
    """Run one qmgr line as a manager would, and change the server accordingly."""
    try:
        parsed = _parse_head(line)
        if parsed.verb in ("list", "print"):
            wanted = [_Wanted(*pair) for pair in _parse_names(line, parsed)]
            return Reply(True, "".join(_show(server, parsed, wanted)))
        changes = _parse_changes(line, parsed)
    except _QmgrError as error:
        return Reply(False, f"qmgr: {error}")
    except PbsError as error:
        return Reply(False, _refusal(parsed.names[0] if parsed.names else "", error))
    name = ""
    try:
        for name in parsed.names or ("",):
            manage(server, Command[parsed.verb.upper()], parsed.kind, name, changes)
    except PbsError as error:
        return Reply(False, _refusal(name, error))
    return Reply(True, "")


class _Wanted(NamedTuple):
    attribute: str
    resource: str


def _refusal(name: str, error: PbsError) -> str:
    return f"qmgr obj={name} svr=default: {error.text}\nqmgr: Error ({error.code}) returned from server"


def _parse_head(line: str) -> _Line:
    words = list(re.finditer(r"\S+", line))
    verb = next((verb for verb in _VERBS if words and verb.startswith(words[0].group().lower())), "")
    if verb not in ("create", "delete", "set", "unset", "list", "print"):
        shown = words[0].group() if words else ""
        raise _QmgrError(f"Illegal operation: {shown}\nTry 'help' if you are having trouble.")
    if len(words) < 2:
        raise _syntax_error(line, len(line))
    kind_word = words[1].group().lower()
    kind = next((kind for word, kind in _KINDS.items() if word.startswith(kind_word)), None)
    if kind is None:
        raise _QmgrError(f"Illegal object type: {words[1].group()}.")
    end = words[1].end()
    names: tuple[str, ...] = ()
    if kind is not Object.SERVER and len(words) > 2:
        names = tuple(filter(None, words[2].group().split(",")))
        end = words[2].end()
    if kind is not Object.SERVER and not names and verb not in ("list", "print"):
        raise _syntax_error(line, len(line))
    if verb in ("set", "unset") and not line[end:].strip():
        raise _syntax_error(line, len(line))
    return _Line(verb, kind, names, line[end:], end)


def _parse_changes(line: str, parsed: _Line) -> list[Change]:
    changes: list[Change] = []
    position, end = parsed.position, len(line.rstrip())
    while position < end:
        match = _NAME.match(line, position)
        if not match:
            raise _syntax_error(line, position)
        name, resource = match.group(1), match.group(2) or ""
        position = match.end()
        operation, value = Operation.SET, ""
        if parsed.verb != "unset":
            operator = _OPERATOR.match(line, position)
            if not operator:
                # qmgr sends what follows a comma as another attribute, which the server then does not know.
                if changes:
                    raise PbsError(UNDEFINED_ATTRIBUTE)
                raise _syntax_error(line, position)
            found = _VALUE.match(line, operator.end())
            if not found:
                raise _syntax_error(line, operator.end())
            operation = _OPERATORS[operator.group(1)]
            if "&" in found.group() or line[found.end() : found.end() + 1] == "=":
                raise _syntax_error(line, operator.end())
            value = next(group for group in found.groups() if group is not None)
            position = found.end()
            _check_shape(line, operator.end(), parsed.kind, name, resource)
        changes.append(Change(name, resource, value, operation))
        comma = re.compile(r"\s*(,|$)\s*").match(line, position)
        if not comma:
            raise _syntax_error(line, position)
        position = comma.end()
        if comma.group(1) and line[position : position + 1] == "[":
            raise PbsError(UNDEFINED_ATTRIBUTE)
    return changes


def _check_shape(line: str, position: int, kind: Object, name: str, resource: str) -> None:
    """qmgr itself knows which attributes have one value for each resource, and requires a resource for those."""
    attribute = TABLES.get(kind, {}).get(name)
    if attribute is not None and attribute.kind.by_resource and not resource:
        raise _syntax_error(line, position)


def _parse_names(line: str, parsed: _Line) -> Iterator[tuple[str, str]]:
    for word in filter(None, re.split(r"[,\s]+", parsed.rest)):
        match = _NAME.fullmatch(word)
        if not match:
            raise _syntax_error(line, parsed.position)
        yield match.group(1), match.group(2) or ""


def _syntax_error(line: str, position: int) -> _QmgrError:
    return _QmgrError(f"Syntax error\n{line}\n{' ' * position}^")


# ---- list and print


def _show(server: SimServer, parsed: _Line, wanted: list[_Wanted]) -> Iterator[str]:
    if parsed.kind is Object.RSC:
        yield from _show_resources(server, parsed)
        return
    if parsed.kind is not Object.SERVER and not parsed.names:
        plural = {Object.QUEUE: "Queues", Object.NODE: "Nodes", Object.SCHED: "Scheds"}[parsed.kind]
        yield f"No Active {plural}, nothing done.\n"
        return
    for name, texts in _stat(server, parsed):
        chosen = _choose(TABLES[parsed.kind], texts, wanted)
        if parsed.verb == "list":
            yield f"{_TITLES[parsed.kind]} {name}\n"
            for key, text in chosen:
                yield from (f"    {key} = {entry}\n" for entry in _entries(key, text))
            yield "\n"
        else:
            yield from _print_object(server, parsed.kind, name, chosen, whole=not wanted)


def _stat(server: SimServer, parsed: _Line) -> Stat:
    if parsed.kind is Object.SERVER:
        return stat_server(server)
    found: Stat = []
    ask = {Object.QUEUE: stat_queues, Object.NODE: stat_vnodes, Object.SCHED: stat_scheds}[parsed.kind]
    for name in parsed.names:
        found += ask(server, "" if name.startswith("@") else name)
    return found


def _choose(table: Table, texts: Mapping[str, str], wanted: list[_Wanted]) -> list[tuple[str, str]]:
    """The wanted attributes in PBS's order, or all if none is named."""
    names = [find_attribute(table, each.attribute).name for each in wanted]
    order = {name: number for number, name in enumerate(table)}
    keys = sorted(texts, key=lambda key: (order.get(key.partition(".")[0], len(order)), key))
    return [(key, texts[key]) for key in keys if not names or key.partition(".")[0] in names]


def _print_object(
    server: SimServer, kind: Object, name: str, chosen: list[tuple[str, str]], *, whole: bool
) -> Iterator[str]:
    """The qmgr lines that would create the object again."""
    what = "server" if kind is Object.SERVER else f"{_WORDS[kind]} {name}"
    if kind is Object.SERVER and whole:
        if any(_custom(server)):
            yield "#\n# Create resources and set their properties.\n#\n"
            yield from _print_resources(server)
        for queue, texts in stat_queues(server):
            yield from _print_object(server, Object.QUEUE, queue, _choose(TABLES[Object.QUEUE], texts, []), whole=True)
        yield "#\n# Set server attributes.\n#\n"
    elif whole:
        head = (
            "Create nodes and set their properties"
            if kind is Object.NODE
            else f"Create {_WORDS[kind]}s and set their attributes"
        )
        yield f"#\n# {head}.\n#\n#\n# Create and define {what}\n#\ncreate {what}\n"
    for key, text in chosen:
        attribute = TABLES[kind].get(key.partition(".")[0])
        if attribute is not None and attribute.saved:
            for number, entry in enumerate(_entries(key, text)):
                shown = f'"{entry}"' if _NEEDS_QUOTES.search(entry) else entry
                yield f"set {what} {key} {'+=' if number else '='} {shown}\n"


def _entries(key: str, text: str) -> list[str]:
    """A limit's entries, each of which qmgr shows on its own line; for anything else the text."""
    limits = any(
        table[name].kind in (Kind.LIMITS, Kind.RESOURCE_LIMITS)
        for table in TABLES.values()
        for name in [key.partition(".")[0]]
        if name in table
    )
    return re.findall(r"\[[^\]]*\]", text) if limits else [text]


def _custom(server: SimServer) -> Iterator[str]:
    return (name for name in server.resources if name not in BUILT_IN_RESOURCES)


def _print_resources(server: SimServer) -> Iterator[str]:
    for name in _custom(server):
        kind, flag = server.resources[name]
        yield f"#\n# Create and define resource {name}\n#\ncreate resource {name}\nset resource {name} type = {kind}\n"
        if flag:
            yield f"set resource {name} flag = {flag}\n"


def _show_resources(server: SimServer, parsed: _Line) -> Iterator[str]:
    names = parsed.names or tuple(_custom(server))
    for name in names:
        if name not in server.resources:
            raise PbsError(UNKNOWN_RESOURCE)
    if parsed.verb == "print":
        yield from _print_resources(server)
        return
    yield "#\n# Create resources and set their properties.\n#\n"
    for name in names:
        kind, flag = server.resources[name]
        yield f"Resource {name}\n    type = {kind}\n" + (f"    flag = {flag}\n" if flag else "") + "\n"
