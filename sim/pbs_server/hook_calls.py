"""How the simulated server calls its hooks, whoever they are."""

from __future__ import annotations

from typing import Protocol

from sim.pbs_server.jobs import SimJob


class HookRejection(Exception):  # noqa: N818 - a verdict, not a fault
    """A hook said no; the message is what the requester gets."""


class Hooks(Protocol):
    """The server's hooks. Each may raise :class:`HookRejection`."""

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        """A job is being submitted. What the hook sets goes into `attributes`, in which nothing is defaulted yet."""

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        """A job is being altered; an empty text unsets. What the hook sets goes into `changes`."""

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        """A job is about to start there."""


class NoHooks:
    """A server without hooks."""

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        """Let every job in."""

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        """Let every job be altered."""

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        """Let every job start."""
