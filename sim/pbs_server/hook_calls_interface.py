"""The interface by which the simulated server calls its hooks."""

from __future__ import annotations

from typing import Protocol

from sim.pbs_server.objects.jobs import SimJob


class HookRejection(Exception):  # noqa: N818 - a verdict, not a fault
    """A hook rejected the request; the message is for the requester."""


class Hooks(Protocol):
    """The server's hooks. Each may raise :class:`HookRejection`."""

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        """A job is being submitted. Attributes that the hook sets go into `attributes`, which has no defaults yet."""

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        """A job is being altered; an empty text unsets an attribute. Attributes that the hook sets go into
        `changes`.
        """

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        """A job is about to start on `exec_vnode`."""


class NoHooks:
    """A server without hooks."""

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        """Accept every job."""

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        """Accept every change."""

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        """Accept every start."""
