"""A stand-in for the module ``pbs`` as a hook of the server sees it: one event, what was logged, and the verdict.

``accept`` and ``reject`` end the hook by SystemExit, as PBS's do.
"""

from __future__ import annotations

from typing import Any

LOG_ERROR, LOG_WARNING, LOG_DEBUG = 3, 4, 7
ND_JOB_EXCLUSIVE, ND_RESV_EXCLUSIVE = 0x40, 0x2000
JOB_STATE_SUSPEND = 400

hook_config_filename: str | None = None
pbs_conf: dict[str, str] = {}

LOGGED: list[str] = []
VERDICTS: list[str | None] = []
VNODES: dict[str, Any] = {}
JOBS: dict[str, Any] = {}


class Resources(dict[str, Any]):
    """Amounts by resource; one that is not set is None, as in PBS."""

    def __missing__(self, key: str) -> None:
        return None


class Record:
    """An object with the attributes that it is made of."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class duration(int):  # noqa: N801 - PBS's own name
    """Seconds, shown as PBS shows them."""

    def __str__(self) -> str:
        return f"{self // 3600:02d}:{self // 60 % 60:02d}:{self % 60:02d}"


class _Event:
    job: Any = None
    requestor = "alice"

    def accept(self) -> None:
        VERDICTS.append(None)
        raise SystemExit("0")

    def reject(self, message: str = "") -> None:
        VERDICTS.append(message)
        raise SystemExit("255")


class _Server:
    def vnode(self, name: str) -> Any:
        return VNODES.get(name)

    def job(self, job_id: str) -> Any:
        return JOBS.get(job_id)


_EVENT = _Event()
_SERVER = _Server()


def event() -> _Event:
    return _EVENT


def server() -> _Server:
    return _SERVER


def logmsg(level: int, message: str) -> None:
    LOGGED.append(message)
