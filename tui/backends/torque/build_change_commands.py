"""Torque's commands: each change by Torque's own program, so that Torque checks whether this user may.

Those that Torque shares with PBS are PBS's (:class:`tui.backends.pbs.build_change_commands.PbsCommands`); what differs
is here. Torque has no soft limits, no custom resources and no scheduler of pbsteer's, which :attr:`unsupported` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.limit_attributes import EntityKey
from torque.translate.exec_host_as_exec_vnode import node_list_for_qrun
from tui.backends.commands_interface import Change, ChangeError, Target
from tui.backends.pbs.build_change_commands import PbsCommands
from tui.backends.read_value_before_and_after_change import Offline, OfflineWhy

PROGRAMS = ("qmgr", "qhold", "qrls", "qdel", "qrerun", "qmove", "qalter", "qrun", "qsig", "pbsnodes")
"""The programs that make changes."""

_NODE = re.compile(r"[A-Za-z0-9][\w.-]*")
_RELEASABLE = "uos"
_NO_LIMITS = "Torque has no soft limits: pbsteer's quotas are for PBS"
_NO_HOOKS = "Torque has no hooks, so no pass of pbsteer runs there"


class TorqueCommands(PbsCommands):
    """The commands of Torque."""

    unsupported: Mapping[str, str] = MappingProxyType(
        {
            "quota": _NO_LIMITS,
            "edit": _NO_LIMITS,
            "user-priority": _NO_LIMITS,
            "mode": _NO_HOOKS,
            "pause-pbsteer": _NO_HOOKS,
            "resume-pbsteer": _NO_HOOKS,
        }
    )

    doer = "Torque"

    def release(self, job: str, texts: Attributes) -> Change:
        """The holds of owner, operator and manager. The hold of a dependency looks like a manager's, and to take it
        off would start the job before those that it waits for; that of an array's limit cannot be taken off."""
        letters = texts.get("Hold_Types", "n")
        if "s" in letters and texts.get("depend"):
            raise ChangeError(f"release: {job} waits for other jobs ({texts['depend'][:200]})")
        if not set(letters) & set(_RELEASABLE):
            raise ChangeError(f"release: {job} is held by the limit of its array; another limit lets more of it run")
        return super().release(job, texts)

    def requeue(self, job: str, texts: Attributes) -> Change:
        """Torque replies before the run has ended."""
        return replace(super().requeue(job, texts), lasting=True)

    def run(self, job: str, texts: Attributes, exec_vnode: str) -> Change:
        """On so many slots of each host; which slots is Torque's choice. Torque would start a held job too."""
        letters = set(texts.get("Hold_Types", "n")) & set(_RELEASABLE)
        if letters or texts.get("job_state") == "H":
            raise ChangeError(f"run: {job} is held ({texts.get('Hold_Types', 'n')}): release it first")
        change = super().run(job, texts, exec_vnode)
        return replace(change, argv=("qrun", "-H", node_list_for_qrun(exec_vnode), job))

    def set_offline(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """``pbsnodes -o``, with the comment as the node's note."""
        return _set_node(vnode, texts, "-o", "-c", comment)

    def set_in_use(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """``pbsnodes -c``; other states, such as down, stay."""
        return _set_node(vnode, texts, "-c", "-o", comment)

    def can_quote(self, text: str) -> bool:
        """Whether a node's note can have this text."""
        return text.isascii() and text.isprintable() and not set(text) & set("<>&\"'\\") and not text.startswith("-")

    def set_limits(
        self, target: Target, texts: Attributes, resource: str, limits: Mapping[EntityKey, int | None]
    ) -> Change:
        """Not possible: the reason."""
        raise ChangeError(f"quota: {_NO_LIMITS}")


def _set_node(vnode: str, texts: Attributes, option: str, back: str, comment: str | None) -> Change:
    if not _NODE.fullmatch(vnode):
        raise ChangeError(f"{vnode!r} is no name of a node: allowed are letters, digits and . _ -")
    readback = Offline() if comment is None else OfflineWhy()
    wanted = {"state": "offline" if option == "-o" else "free", "comment": comment or ""}
    now = texts.get("comment", "")
    there, undone = (
        ("pbsnodes", letter, *(("-N", note) if comment is not None else ()), vnode)
        for letter, note in ((option, comment or ""), (back, now))
    )
    before, after = readback.of(texts), readback.of(wanted)
    return Change(Target("vnode", vnode), there, readback, before, after, undone, doer=TorqueCommands.doer)
