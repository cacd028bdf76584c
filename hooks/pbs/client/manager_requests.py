"""Requests that PBS takes from managers alone: a scheduler's switch, soft limits, and whether a hook is on.

They are part of :class:`hooks.pbs.client.pbs_ifl_client.Connection`, which has the connection and raises what PBS
refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hooks.pbs.client.attribute_lists_of_pbs_ifl import AttributeChain, texts_of
from hooks.pbs.custom_resources import SOFT_LIMIT
from hooks.pbs.own_switch_values import OWN_SWITCHES
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER

_ENABLED = "enabled"
_NO_SUCH_HOOK = 15136
"""``PBSE_HOOKERROR``, which PBS answers for a hook that is not there."""


class ManagerRequests(ABC):
    """The requests of a connection; each raises :class:`hooks.pbs.client.pbs_ifl_client.IflError` if the server refuses
    it."""

    _ifl: Any
    _handle: Any

    @abstractmethod
    def _demand(self, status: int, what: str) -> None:
        """Raise if the status of a request says that it was refused; ``what`` names it."""

    @abstractmethod
    def _errno(self) -> int:
        """The error number of the last request."""

    def set_scheduling(self, scheduler: str, *, scheduling: bool) -> None:
        """Switch a scheduler on, which also starts a cycle, or off, which ends the current cycle. The default scheduler
        is switched off by unsetting the server's ``scheduling`` (:mod:`hooks.pbs.pause_in_server_attributes`)."""
        ifl = self._ifl
        change = ifl.attropl()
        change.name, change.resource, change.value, change.op = (
            "scheduling",
            None,
            OWN_SWITCHES[not scheduling],
            ifl.SET,
        )
        what, how, name = ifl.MGR_OBJ_SCHED, ifl.MGR_CMD_SET, scheduler
        if scheduler == DEFAULT_SCHEDULER and not scheduling:
            change.value, change.op = "", ifl.UNSET
            what, how, name = ifl.MGR_OBJ_SERVER, ifl.MGR_CMD_UNSET, ""
        status = ifl.pbs_manager(self._handle, how, what, name, change, None)
        self._demand(status, f"set scheduling = {scheduling} of scheduler {scheduler}")

    def change_soft_limits(
        self, queue: str, resource: str, entries: str, *, remove: bool = False, is_last: bool = False
    ) -> None:
        """Add entries (``[u:alice=128],[g:chem=64]``) to the soft limit on a resource of a queue, or of the server if
        ``queue`` is empty; the other entries stay as they are. With ``remove`` take out those with these values, and
        where there are no others (``is_last``) unset the limit: PBS stores no removal that leaves none, and has the
        entries again when its server is restarted."""
        ifl = self._ifl
        change = ifl.attropl()
        change.name, change.resource, change.value, change.op = (
            SOFT_LIMIT,
            resource,
            entries,
            ifl.DECR if remove else ifl.INCR,
        )
        command = ifl.MGR_CMD_SET
        if remove and is_last:
            command, change.value, change.op = ifl.MGR_CMD_UNSET, "", ifl.UNSET
        kind = ifl.MGR_OBJ_QUEUE if queue else ifl.MGR_OBJ_SERVER
        status = ifl.pbs_manager(self._handle, command, kind, queue, change, None)
        place = f"queue {queue}" if queue else "the server"
        self._demand(status, f"{'remove' if remove else 'set'} {entries} of {SOFT_LIMIT}.{resource} of {place}")

    def soft_limits_command(
        self, queue: str, resource: str, entries: str, *, remove: bool = False, is_last: bool = False
    ) -> str:
        """The command that would do the same as :meth:`change_soft_limits`, for the audit."""
        place = f"queue {queue}" if queue else "server"
        if remove and is_last:
            return f"qmgr -c 'unset {place} {SOFT_LIMIT}.{resource}'"
        return f"qmgr -c 'set {place} {SOFT_LIMIT}.{resource} {'-=' if remove else '+='} {entries}'"

    def is_hook_enabled(self, name: str) -> bool | None:
        """Whether a hook of the site is on; None if the server has none of this name."""
        chain = AttributeChain(self._ifl, [(_ENABLED, None, "")])
        answer = self._ifl.pbs_stathook(self._handle, name, chain.head, None)
        if not answer:
            code = self._errno()
            self._demand(0 if code == _NO_SUCH_HOOK else code, f"read hook {name}")
            return None
        try:
            return texts_of(answer).get(_ENABLED, "") == "true"
        finally:
            self._ifl.pbs_statfree(answer)

    def switch_hook(self, name: str, *, enabled: bool) -> None:
        """Switch a hook of the site on or off, unless it is so already or the server has none of this name."""
        if self.is_hook_enabled(name) not in (enabled, None):
            self._set_hook_enabled(name, enabled=enabled)

    def _set_hook_enabled(self, name: str, *, enabled: bool) -> None:
        """Switch a hook of the site on or off; PBS lets root do this on the server's host."""
        ifl = self._ifl
        change = ifl.attropl()
        change.name, change.resource, change.value, change.op = _ENABLED, None, OWN_SWITCHES[not enabled], ifl.SET
        status = ifl.pbs_manager(self._handle, ifl.MGR_CMD_SET, ifl.MGR_OBJ_HOOK, name, change, None)
        self._demand(status, f"set enabled = {enabled} of hook {name}")
