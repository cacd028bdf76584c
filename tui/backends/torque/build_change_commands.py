"""Torque's commands: each change by Torque's own program, so that Torque checks whether this user may.

Those that Torque shares with PBS are PBS's (:class:`tui.backends.pbs.build_change_commands.PbsCommands`); what differs
is here. Torque has no soft limits and no custom resources: quotas, priorities and modes are in the settings file, which
is changed by :mod:`tui.backends.torque.settings_file`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PAUSED_ATTRIBUTE, PRIORITY
from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.limit_attributes import EntityKey, show_entity
from policy.settings.simulated_queues import TORQUE_MODES
from torque.passes.watched_settings import EDIT, NO_ENTRY, WHOLE_CLUSTER
from torque.translate.exec_host_as_exec_vnode import node_list_for_qrun
from tui.backends.interface.commands_interface import SYSTEM_HOLD, Change, ChangeError, Target
from tui.backends.interface.read_value_before_and_after_change import Entries, Offline, OfflineWhy, Plain, show_entries
from tui.backends.pbs.build_change_commands import PbsCommands
from tui.model.typed_attributes import soft_limits

PROGRAMS = (EDIT, "qmgr", "qhold", "qrls", "qdel", "qrerun", "qmove", "qalter", "qrun", "qsig", "pbsnodes")
"""What makes changes: Torque's programs, and what stands for an edit of the settings file."""

_NODE = re.compile(r"[A-Za-z0-9][\w.-]*")
_RELEASABLE = "uos"
_FILE = "the settings file"
_KEYS = {MODE_ATTRIBUTE: "mode", PAUSED_ATTRIBUTE: "paused"}
"""The attributes that are keys of the settings file."""


class TorqueCommands(PbsCommands):
    """The commands of Torque."""

    doer = "Torque"
    waiting_jobs_tell_dependents = True

    def __init__(self, settings_file: Path) -> None:
        self._file = str(settings_file)

    def release(self, job: str, texts: Attributes, but: str = "") -> Change:
        """The holds of owner, operator and manager. The hold of a dependency looks like a manager's, and to take it
        off would start the job before those that it waits for; that of an array's limit cannot be taken off."""
        letters = "".join(letter for letter in texts.get("Hold_Types", "n") if letter not in but)
        if SYSTEM_HOLD in letters and texts.get("depend"):
            raise ChangeError(f"release: {job} waits for other jobs ({texts['depend'][:200]})")
        if not set(letters) & set(_RELEASABLE):
            raise ChangeError(f"release: {job} is held by the limit of its array; another limit lets more of it run")
        return super().release(job, texts, but)

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
        return self._set_node(vnode, texts, "-o", "-c", comment)

    def set_in_use(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """``pbsnodes -c``; other states, such as down, stay."""
        return self._set_node(vnode, texts, "-c", "-o", comment)

    def can_quote(self, text: str) -> bool:
        """Whether a node's note can have this text."""
        return text.isascii() and text.isprintable() and not set(text) & set("<>&\"'\\") and not text.startswith("-")

    def set_limits(
        self, target: Target, texts: Attributes, resource: str, limits: Mapping[EntityKey, int | None]
    ) -> Change:
        """Entries of a limit in the settings file; the other entries stay as they are."""
        for entity in limits:
            self.check_name(entity[1])
        entries = soft_limits(texts, resource).entries
        before = {entity: entries.get(entity) for entity in limits}
        key = "priorities" if resource == PRIORITY else f"quotas.{resource}"
        if target.kind == "server" and resource == PRIORITY:
            raise ChangeError("priorities are of one queue: name it")
        there, back = (self._edit(target, key, _entries(values)) for values in (limits, before))
        readback = Entries(resource, tuple(limits))
        return Change(target, there, readback, show_entries(before), show_entries(limits), back, doer=_FILE)

    def set_attribute(self, target: Target, texts: Attributes, attribute: str, value: str, missing: str) -> Change:
        """A mode, or a pause, in the settings file; other attributes by ``qmgr``."""
        key = _KEYS.get(attribute)
        if key is None:
            return super().set_attribute(target, texts, attribute, value, missing)
        if attribute == MODE_ATTRIBUTE and value not in TORQUE_MODES:
            raise ChangeError(f"mode {value!r}: allowed on Torque is {' or '.join(TORQUE_MODES)}")
        readback, now = Plain(attribute, missing), texts.get(attribute, "")
        there, back = (self._edit(target, key, text) for text in (value, now))
        return Change(target, there, readback, readback.of(texts), value or missing, back, doer=_FILE)

    def _set_node(self, vnode: str, texts: Attributes, option: str, back: str, comment: str | None) -> Change:
        """Not to be undone where the note that there is cannot be written again."""
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
        undone = undone if comment is None or self.can_quote(now) else ()
        return Change(Target("vnode", vnode), there, readback, before, after, undone, doer=self.doer)

    def _edit(self, target: Target, key: str, value: str) -> tuple[str, ...]:
        return (EDIT, self._file, target.name if target.kind == "queue" else WHOLE_CLUSTER, key, value)


def _entries(limits: Mapping[EntityKey, int | None]) -> str:
    return ",".join(
        f"[{show_entity(entity)}={NO_ENTRY if limit is None else limit}]" for entity, limit in limits.items()
    )
