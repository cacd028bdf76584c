"""PBS's commands: each change is made by one of PBS's own programs, so that PBS checks whether this user may.

Vnodes, queues and limits are set by ``qmgr``, since ``pbsnodes -o`` affects all vnodes of a host. What goes into a qmgr
line is checked here, where the line is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.limit_attributes import LONGEST_NAME, EntityKey, show_entity
from tui.backends.interface.commands_interface import Change, ChangeError, Readback, Target
from tui.backends.interface.read_value_before_and_after_change import (
    IN_USE,
    Entries,
    Holds,
    HoldsWhileWaiting,
    JobState,
    Offline,
    OfflineWhy,
    Plain,
    show_entries,
)
from tui.model.typed_attributes import SOFT_LIMIT, soft_limits

PROGRAMS = ("qmgr", "qhold", "qrls", "qdel", "qrerun", "qmove", "qalter", "qrun", "qsig")
"""The programs that make changes."""

_WALLTIME = "Resource_List.walltime"
_SPLIT = frozenset(",'\"\\")
_HOLDS = Holds()
_NAME = re.compile(rf"[\w.@$-]{{1,{LONGEST_NAME}}}", re.ASCII)
_VNODE_NAME = re.compile(r"[\w.@+\[\]-]+")
_BARE = re.compile(r"[\w.:+-]+")
"""A value that qmgr takes without quotes."""

Argv = tuple[str, ...]


class PbsCommands:
    """The commands of PBS Professional and OpenPBS; they support every operation."""

    unsupported: Mapping[str, str] = MappingProxyType({})
    doer = "PBS"
    waiting_jobs_tell_dependents = False
    """PBS leaves dependents of a job that is deleted before it ran held, of whatever kind."""

    def check_name(self, name: str) -> None:
        """Raise :class:`ChangeError` for a name that qmgr does not accept."""
        if not _NAME.fullmatch(name):
            shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
            allowed = f"at most {LONGEST_NAME} of a-z, A-Z, 0-9 and . _ @ $ -"
            raise ChangeError(f"{shown!r} is no name that qmgr takes: allowed are {allowed}")

    def can_quote(self, text: str) -> bool:
        """Whether qmgr can carry the text: it has no escapes, only two kinds of quotes."""
        return _can_quote(text)

    def hold(self, job: str, texts: Attributes) -> Change:
        """An operator's hold, beside the holds that there are. PBS relays the hold of a run to its MoM, whose
        checkpoint ends the run: it is sent only while the job waits."""
        before, readback = _HOLDS.of(texts), HoldsWhileWaiting()
        after = _HOLDS.of({"Hold_Types": f"{before.replace('n', '')}o"})
        argv, back = ((program, "-h", "o", job) for program in ("qhold", "qrls"))
        return self._change(_job(job), argv, readback, readback.of(texts), after, back)

    def release(self, job: str, texts: Attributes, but: str = "") -> Change:
        """The holds that there are, by their letters. The job may start at once, and then it is not held again."""
        before = _HOLDS.of(texts)
        letters, left = ("".join(each for each in before if (each in but) == kept) for kept in (False, True))
        argv, back = ((program, "-h", letters, job) for program in ("qrls", "qhold"))
        change = self._change(_job(job), argv, _HOLDS, before, left or "n", back)
        return replace(change, undo_readback=HoldsWhileWaiting())

    def delete(self, job: str, texts: Attributes) -> Change:
        """PBS replies before the job is gone."""
        readback = JobState()
        return self._change(_job(job), ("qdel", job), readback, readback.of(texts), "gone", lasting=True)

    def requeue(self, job: str, texts: Attributes) -> Change:
        """Any other state proves it, since the job may start again at once."""
        readback = JobState()
        return self._change(_job(job), ("qrerun", job), readback, readback.of(texts), None)

    def move(self, job: str, texts: Attributes, queue: str) -> Change:
        """To the end of another queue."""
        before = texts.get("queue", "")
        return self._change(_job(job), ("qmove", queue, job), Plain("queue"), before, queue, ("qmove", before, job))

    def set_job_priority(self, job: str, texts: Attributes, priority: int) -> Change:
        """The job's own attribute ``Priority``."""
        readback = Plain("Priority", "0")
        before, after = readback.of(texts), str(priority)
        argv, back = (("qalter", "-p", number, job) for number in (after, before))
        return self._change(_job(job), argv, readback, before, after, back)

    def set_walltime(self, job: str, texts: Attributes, seconds: int) -> Change:
        """The job's ``Resource_List.walltime``; a manager may raise that of a running job."""
        readback, hours = Plain(_WALLTIME), _hours(seconds)
        before = readback.of(texts)
        back = ("qalter", "-l", f"walltime={before}", job) if before != readback.missing else ()
        return self._change(_job(job), ("qalter", "-l", f"walltime={hours}", job), readback, before, hours, back)

    def set_comment(self, job: str, texts: Attributes, comment: str) -> Change:
        """The job's attribute ``comment``, which ``qstat -s`` shows."""
        readback = Plain("comment")
        before = readback.of(texts)
        old = texts.get("comment", "")
        back = ("qalter", "-W", f"comment={old}", job) if self.can_comment(old) else ()
        return self._change(_job(job), ("qalter", "-W", f"comment={comment}", job), readback, before, comment, back)

    def can_comment(self, text: str) -> bool:
        """Whether ``qalter -W`` takes the text as one value: it splits at commas and knows quotes."""
        return bool(text) and text == text.strip() and text.isascii() and text.isprintable() and not set(text) & _SPLIT

    def run(self, job: str, texts: Attributes, exec_vnode: str) -> Change:
        """Without PBS's scheduler, which ``qrun`` would ask if no vnodes were named."""
        readback = JobState()
        return self._change(
            _job(job), ("qrun", "-H", exec_vnode, job), readback, readback.of(texts), None, lasting=True
        )

    def suspend(self, job: str, texts: Attributes) -> Change:
        """PBS replies before the job's hosts have stopped it."""
        readback = JobState()
        argv, back = (("qsig", "-s", signal, job) for signal in ("suspend", "resume"))
        return self._change(_job(job), argv, readback, readback.of(texts), "suspended", back, lasting=True)

    def resume(self, job: str, texts: Attributes) -> Change:
        """PBS leaves it to its scheduler when the job goes on."""
        readback = JobState()
        return self._change(_job(job), ("qsig", "-s", "resume", job), readback, readback.of(texts), None, lasting=True)

    def set_offline(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """The state ``offline`` beside the vnode's other states."""
        return _set_node(vnode, texts, "+=", "-=", comment)

    def set_in_use(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """Without the state ``offline``; other states, such as down, stay."""
        return _set_node(vnode, texts, "-=", "+=", comment)

    def set_attribute(self, target: Target, texts: Attributes, attribute: str, value: str, missing: str) -> Change:
        """``set`` or ``unset`` of one attribute."""
        readback = Plain(attribute, missing)
        now = texts.get(attribute, "")
        there, back = (_set(self._place(target), attribute, text) for text in (value, now))
        back = back if _can_quote(now) else ()
        return self._change(target, there, readback, readback.of(texts), value or missing, back)

    def set_limits(
        self, target: Target, texts: Attributes, resource: str, limits: Mapping[EntityKey, int | None]
    ) -> Change:
        """Entries of ``max_run_res_soft``; the other entries stay as they are. The last entries go by ``unset``: PBS
        stores no ``-=`` that leaves none, and has the entries again when its server is restarted."""
        for entity in limits:
            self.check_name(entity[1])
        self.check_name(resource)
        entries = soft_limits(texts, resource).entries
        before = {entity: entries.get(entity) for entity in limits}
        place = self._place(target)
        # What cannot be read here has entries all the same.
        is_first = not texts.get(f"{SOFT_LIMIT}{resource}", "")
        is_last = bool(entries) and not entries.keys() - limits.keys()
        there = _set_entries(place, resource, before, limits, is_last=is_last)
        back = _set_entries(place, resource, limits, before, is_last=is_first)
        whole = is_first or (is_last and None in limits.values())
        readback = Entries(resource, tuple(limits), whole)
        return self._change(target, there, readback, show_entries(before), show_entries(limits), back)

    def _place(self, target: Target) -> str:
        """The object of a qmgr line: PBS has one server, which goes without its name."""
        if target.kind == "server":
            return "server"
        self.check_name(target.name)
        return f"{target.kind} {target.name}"

    def _change(
        self,
        target: Target,
        argv: Argv,
        readback: Readback,
        before: str,
        after: str | None,
        back: Argv = (),
        *,
        lasting: bool = False,
    ) -> Change:
        return Change(target, argv, readback, before, after, back, lasting, doer=self.doer)


def _job(job: str) -> Target:
    return Target("job", job)


def _can_quote(text: str) -> bool:
    return text.isprintable() and not ("'" in text and '"' in text)


def _hours(seconds: int) -> str:
    """A duration as PBS shows it: ``02:00:00``."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _set_node(vnode: str, texts: Attributes, sign: str, back_sign: str, comment: str | None) -> Change:
    """Not to be undone where the comment that there is cannot be written again."""
    if not _VNODE_NAME.fullmatch(vnode):
        raise ChangeError(f"{vnode!r} is no name of a vnode that qmgr takes")
    now = None if comment is None else texts.get("comment", "")
    readback = Offline() if comment is None else OfflineWhy()
    state = {"state": "offline" if sign == "+=" else IN_USE, "comment": comment or ""}
    argv = _node_line(vnode, sign, comment)
    back = _node_line(vnode, back_sign, now) if _can_quote(now or "") else ()
    return Change(Target("vnode", vnode), argv, readback, readback.of(texts), readback.of(state), back)


def _node_line(vnode: str, sign: str, comment: str | None) -> Argv:
    quote = "'" if comment is not None and '"' in comment else '"'
    more = "" if comment is None else f", comment = {quote}{comment}{quote}"
    return ("qmgr", "-c", f"set node {vnode} state {sign} offline{more}")


def _set(place: str, attribute: str, value: str) -> Argv:
    if not value:
        return ("qmgr", "-c", f"unset {place} {attribute}")
    quote = "" if _BARE.fullmatch(value) else "'" if '"' in value else '"'
    return ("qmgr", "-c", f"set {place} {attribute} = {quote}{value}{quote}")


def _set_entries(
    place: str,
    resource: str,
    old: Mapping[EntityKey, int | None],
    new: Mapping[EntityKey, int | None],
    *,
    is_last: bool,
) -> Argv:
    """``is_last``: there are no other entries than these."""
    removes = {limit is None for limit in new.values()}
    if len(removes) != 1:
        raise ChangeError("one command of qmgr either sets entries of a limit or removes them")
    if removes == {True} and is_last:
        return ("qmgr", "-c", f"unset {place} {SOFT_LIMIT}{resource}")
    sign, values = ("-=", old) if removes == {True} else ("+=", new)
    text = ",".join(f"[{show_entity(entity)}={limit or 0}]" for entity, limit in values.items())
    quote = '"' if len(values) > 1 else ""
    return ("qmgr", "-c", f"set {place} {SOFT_LIMIT}{resource} {sign} {quote}{text}{quote}")
