"""A stand-in for the module ``pbs`` as a hook of the server sees it: one event, what was logged, and the verdict.

``accept`` and ``reject`` end the hook by SystemExit, as PBS's do.
"""

from __future__ import annotations

from typing import Any

LOG_ERROR, LOG_WARNING, LOG_DEBUG = 3, 4, 7
ND_OFFLINE, ND_DOWN = 0x1, 0x2
ND_JOB_EXCLUSIVE, ND_RESV_EXCLUSIVE = 0x40, 0x2000
JOB_STATE_QUEUED, JOB_STATE_HELD, JOB_STATE_WAITING, JOB_STATE_RUNNING, JOB_STATE_BEGUN = 1, 2, 3, 4, 7
JOB_STATE_MOVED, JOB_STATE_FINISHED, JOB_STATE_SUSPEND = 8, 9, 400

hook_config_filename: str | None = None
pbs_conf: dict[str, str] = {}

LOGGED: list[str] = []
VERDICTS: list[str | None] = []
SERVER_CALLS: list[str] = []
VNODES: dict[str, Any] = {}
JOBS: dict[str, Any] = {}


class Resources(dict[str, Any]):
    """Amounts by resource; one that is not set is None, as in PBS. What is set to None is to be unset, which PBS shows
    as an empty text; no plain text can be set as chunks."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key in ("select", "place") and type(value) is str:
            raise TypeError(f"{key} must be of its own type")
        super().__setitem__(key, "" if value is None else value)

    def __missing__(self, key: str) -> None:
        return None


class Undefined(dict[str, Any]):
    """Amounts where PBS has not told of any resource of a site's own yet."""

    def __missing__(self, key: str) -> None:
        raise AttributeError(f"'pbs_resource' object has no attribute '{key}'")


class Record:
    """An object with the attributes that it is made of; what an alteration does not name is None, as in PBS."""

    Rerunable: Any = None
    Checkpoint: Any = None
    project: Any = None
    group_list: Any = None

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class duration(int):  # noqa: N801 - PBS's own name
    """Seconds, shown as PBS shows them."""

    def __str__(self) -> str:
        return f"{self // 3600:02d}:{self // 60 % 60:02d}:{self % 60:02d}"


class select(str):  # noqa: N801 - PBS's own name
    """Chunks."""

    __slots__ = ()


class priority:  # noqa: N801 - PBS's own name
    """A job's priority, which is no number: only its text can be read."""

    def __init__(self, value: int | str) -> None:
        self._value = value

    def __str__(self) -> str:
        return str(self._value)


class place(str):  # noqa: N801 - PBS's own name
    """An arrangement of chunks."""

    __slots__ = ()


class _Event:
    job: Any = None
    job_o: Any = None
    requestor = "alice"
    requestor_host = "login"
    vnode_list = VNODES

    def accept(self) -> None:
        VERDICTS.append(None)
        raise SystemExit("0")

    def reject(self, message: str = "") -> None:
        VERDICTS.append(message)
        raise SystemExit("255")


class _Server:
    server_host = "server"
    managers: str | None = None
    operators = "olga@*"

    def vnode(self, name: str) -> Any:
        return VNODES.get(name)

    def vnodes(self) -> Any:
        return iter(VNODES.values())

    def queue(self, name: str) -> Any:
        return Record(name=name, partition=None)

    def job(self, job_id: str) -> Any:
        return JOBS.get(job_id)


_EVENT = _Event()
_SERVER = _Server()


def event() -> _Event:
    return _EVENT


def server() -> _Server:
    SERVER_CALLS.append("server")
    return _SERVER


def get_local_nodename() -> str:
    return "v1"


def logjobmsg(job_id: str, message: str) -> None:
    LOGGED.append(f"{job_id}: {message}")


def logmsg(level: int, message: str) -> None:
    LOGGED.append(message)
