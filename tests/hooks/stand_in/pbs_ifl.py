"""A server of plain dictionaries behind the part of pbs_ifl that the hooks use, with linked lists like the real one.

``WORLD`` is a picture's data; what was done is in ``CALLS``; a job id in ``REFUSALS`` has its requests refused, with
the error number that the words may begin with. A start that is not waited for tells nothing, and the job what came of
it. A signal that does not exist is answered as a MoM does for a running job, or with the job's ``MOM_ANSWERS``.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

EQ = 4
GE = 6
SET, UNSET = 0, 1
MGR_CMD_SET, MGR_CMD_UNSET = 2, 3
MGR_OBJ_SERVER, MGR_OBJ_SCHED, MGR_OBJ_HOOK = 0, 6, 8

WORLD: dict[str, Any] = {}
CALLS: list[list[str]] = []
REFUSALS: dict[str, str] = {}
MOM_ANSWERS: dict[str, int] = {}
UNKNOWN_ATTRIBUTES: set[str] = set()
FREED: list[Any] = []

_error: list[Any] = [0, None]


class attrl:  # noqa: N801 - PBS's own name
    def __init__(self) -> None:
        self.name: str = ""
        self.resource: str | None = None
        self.value: str = ""
        self.next: Any = None


class attropl(attrl):  # noqa: N801 - PBS's own name
    def __init__(self) -> None:
        super().__init__()
        self.op = 0


class batch_status:  # noqa: N801 - PBS's own name
    def __init__(self, name: str, attribs: Any) -> None:
        self.name = name
        self.attribs = attribs
        self.text = None
        self.next: Any = None


def pbs_connect(server: str | None) -> int:
    CALLS.append(["connect", server or ""])
    return -1 if WORLD.get("away") else 7


def pbs_disconnect(handle: int) -> int:
    CALLS.append(["disconnect"])
    return 0


def get_pbs_errno() -> int:
    return int(_error[0])


def pbs_geterrmsg(handle: int) -> str | None:
    text: str | None = _error[1]
    return text


def pbs_statfree(answer: Any) -> None:
    FREED.append(answer)


def pbs_statserver(handle: int, names: Any, extend: str | None) -> Any:
    server = {key: value for key, value in WORLD["server"].items() if key != "name"}
    return _answer({WORLD["server"]["name"]: server}, names)


def pbs_statjob(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    named = (name or "").split(",")
    found = {job: texts for job, texts in WORLD["jobs"].items() if job in named or (not name and not _is_subjob(job))}
    if name and not found:
        _error[:] = [15001, "Unknown Job Id"]
        return None
    return _answer(found, names)


def pbs_selstat(handle: int, wanted: Any, names: Any, extend: str | None) -> Any:
    # T would have the server look at each index of each array, and be away for seconds meanwhile.
    assert "T" not in (extend or ""), extend
    found = {
        job: texts
        for job, texts in WORLD["jobs"].items()
        if not _is_subjob(job) or ("S" in (extend or "") and texts["job_state"] in "RES")
    }
    while wanted is not None:
        assert (wanted.name, wanted.op) in (("job_state", EQ), ("mtime", GE)), (wanted.name, wanted.op)
        since_s = wanted.value if wanted.name == "mtime" else None
        found = {
            job: texts
            for job, texts in found.items()
            if (texts["job_state"] in wanted.value if since_s is None else int(texts["mtime"]) >= int(since_s))
        }
        wanted = wanted.next
    return _answer(found, names)


def pbs_statque(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    return _answer(WORLD["queues"], names)


def pbs_statvnode(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    if not WORLD["vnodes"]:
        _error[:] = [15064, "Server has no node list"]
        return None
    return _answer(WORLD["vnodes"], names)


def pbs_statrsc(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    return _answer(WORLD["resources"], names)


def pbs_statsched(handle: int, names: Any, extend: str | None) -> Any:
    return _answer(WORLD["scheds"], names)


def pbs_stathook(handle: int, name: str, names: Any, extend: str | None) -> Any:
    if name not in WORLD.get("hooks", {}):
        _error[:] = [15136, f"{name} does not exist!"]
        return None
    return _answer({name: WORLD["hooks"][name]}, names)


def pbs_statresv(handle: int, name: str | None, names: Any, extend: str | None) -> Any:
    return _answer(WORLD["reservations"], names)


def pbs_asyrunjob_ack(handle: int, job: str, exec_vnode: str, extend: str | None) -> int:
    return _act(["start", job, exec_vnode])


def pbs_asyrunjob(handle: int, job: str, exec_vnode: str, extend: str | None) -> int:
    texts = WORLD.get("jobs", {}).get(job, {})
    if _act(["start", job, exec_vnode]):
        texts["comment"] = f"Not Running: PBS Error: {REFUSALS[job]}"
    else:
        texts["job_state"] = "R"
    return 0


def pbs_rerunjob(handle: int, job: str, extend: str | None) -> int:
    return _act(["requeue", job, *([extend] if extend else [])])


def pbs_deljob(handle: int, job: str, extend: str | None) -> int:
    return _act(["delete", job])


def pbs_sigjob(handle: int, job: str, name: str, extend: str | None) -> int:
    if f"SIG{name.removeprefix('SIG')}" in signal.Signals.__members__:
        return _act(["signal", job, name])
    _error[:] = [MOM_ANSWERS.get(job, 15013), "Unknown/illegal signal name"]
    return int(_error[0])


def pbs_holdjob(handle: int, job: str, holds: str, extend: str | None) -> int:
    return _act(["hold", job, holds])


def pbs_rlsjob(handle: int, job: str, holds: str, extend: str | None) -> int:
    return _act(["release", job, holds])


def pbs_alterjob(handle: int, job: str, changes: attrl, extend: str | None) -> int:
    call = ["alter", job]
    link: attrl | None = changes
    while link is not None:
        call += [f"{link.name}.{link.resource}" if link.resource else link.name, link.value]
        link = link.next
    status = _act(call)
    texts = WORLD.get("jobs", {}).get(job)
    if status == 0 and texts is not None:
        changed = {**texts, **dict(zip(call[2::2], call[3::2]))}
        WORLD["jobs"][job] = {name: text for name, text in changed.items() if text}
    return status


def pbs_manager(handle: int, command: int, kind: int, name: str, changes: attropl, extend: str | None) -> int:
    if (command, kind, changes.name, changes.op) == (MGR_CMD_SET, MGR_OBJ_HOOK, "enabled", SET):
        return _act(["hook", name, {"y": "true", "n": "false"}[changes.value]])
    assert changes.name == "scheduling"
    if (command, kind, changes.op) == (MGR_CMD_UNSET, MGR_OBJ_SERVER, UNSET):
        # PBS switches the default scheduler off by that, and shows no value of the server's own.
        return _act(["scheduling", "default", "False"])
    assert (command, kind, changes.op) == (MGR_CMD_SET, MGR_OBJ_SCHED, SET)
    return _act(["scheduling", name, {"y": "True", "n": "False"}[changes.value]])


def _act(call: list[str]) -> int:
    CALLS.append(call)
    refusal = REFUSALS.get(call[1])
    code = refusal[:5] if refusal else ""
    _error[:] = [int(code) if code.isdigit() else 15004, refusal] if refusal else [0, None]
    return int(_error[0])


def _answer(objects: Mapping[str, Mapping[str, str]], names: Any) -> Any:
    wanted = set()
    while names is not None:
        wanted.add(names.name)
        names = names.next
    if WORLD.get("ends"):
        _error[:] = [15031, "Premature end of message"]
        return None
    if wanted & UNKNOWN_ATTRIBUTES:
        _error[:] = [15002, "Undefined attribute"]
        return None
    _error[:] = [0, None]
    head = None
    for name, texts in reversed(list(objects.items())):
        status = batch_status(name, _attributes(texts, wanted))
        status.next, head = head, status
    return head


def _attributes(texts: Mapping[str, str], wanted: set[str]) -> Any:
    head = None
    for key, value in reversed(list(texts.items())):
        name, _, resource = key.partition(".")
        if not wanted or name in wanted:
            link = attrl()
            link.name, link.resource, link.value, link.next = name, resource or None, value, head
            head = link
    return head


def _is_subjob(job: str) -> bool:
    return "[" in job and "[]" not in job
