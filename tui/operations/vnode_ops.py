"""What can be done to vnodes: take them out of use, put them back, drain them with or without requeueing their jobs.

By ``qmgr`` on the vnode itself: ``pbsnodes -o`` takes a host's name and means all vnodes of that host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hooks.pbs.status import Picture
from policy.model.units import show_count
from tui.operations.change import Change, ChangeError
from tui.operations.drain import comment_before, drain_comment, drain_lines, plan_drain
from tui.operations.job_ops import requeue_change
from tui.operations.operation import Deed, changes_to, told_of
from tui.operations.readback import IN_USE, OFFLINE, Offline, OfflineWhy, Target
from tui.operations.status_edits import requeued
from tui.state.cluster_view import World

DRAIN_WAYS = ("wait", "requeue")
_VNODE_NAME = re.compile(r"[\w.@+\[\]-]+")


def offline(world: World, names: Sequence[str]) -> Deed:
    """Take vnodes out of use: their jobs go on, no new one starts there."""
    return _set_state(world, names, "offline", OFFLINE)


def clear(world: World, names: Sequence[str]) -> Deed:
    """Put vnodes back into use."""
    return _set_state(world, names, "clear", IN_USE)


def _set_state(world: World, names: Sequence[str], verb: str, wanted: str) -> Deed:
    def change(name: str) -> Change:
        texts = _vnode(world, name, verb)
        facet, comment = Offline(), texts.get("comment", "")
        before, kept = facet.of(texts), comment_before(comment)
        if before == wanted:
            raise ChangeError(f"{verb}: {name} is {wanted} already")
        if wanted == IN_USE and kept is not None:
            # What a drain wrote over goes with the drain.
            why = OfflineWhy()
            now, after = why.of(texts), why.of({"comment": kept})
            there, back = _line(name, "-=", kept), _line(name, "+=", comment)
            return Change(Target("vnode", name), f"{verb} {name}", there, why, now, after, back)
        argv, back = (_line(name, sign) for sign in (("+=", "-=") if wanted == OFFLINE else ("-=", "+=")))
        return Change(Target("vnode", name), f"{verb} {name}", argv, facet, before, wanted, back)

    changes, left_out = changes_to(verb, "vnode", names, change)
    edit = partial(_with_state, names=[change.target.name for change in changes], wanted=wanted)
    return Deed(f"{verb} {told_of(changes, 'vnode')}", changes, edit, left_out=left_out)


def drain(world: World, names: Sequence[str], way: str, user: str) -> Deed:
    """Take vnodes out of use with a comment that says who drains them, and requeue the jobs there if ``way`` says so.
    The comment before is kept in it; one that qmgr has no quotes for stays as it is.

    Vnodes that are offline already stay as they are. Jobs that must not run again are left to their end.
    """
    if way not in DRAIN_WAYS:
        raise ChangeError(f"drain {way!r}: allowed is {' or '.join(DRAIN_WAYS)}")
    chosen = [name for name in dict.fromkeys(names) if _vnode(world, name, "drain")]
    if not chosen:
        raise ChangeError("drain: which vnode?")
    plan = plan_drain(world, chosen)
    facet = OfflineWhy()
    changes = []
    for name in chosen:
        texts = world.picture.vnodes[name]
        if Offline().of(texts) != OFFLINE:
            before = texts.get("comment", "")
            comment = drain_comment(user, before)
            after = facet.of({"state": "offline", "comment": before if comment is None else comment})
            argv, back = _line(name, "+=", comment), _line(name, "-=", None if comment is None else before)
            target, title = Target("vnode", name), f"drain {name}"
            changes.append(Change(target, title, argv, facet, facet.of(texts), after, back))
    jobs = [stay.job for stay in plan.stays if stay.rerunable] if way == "requeue" else []
    changes += [requeue_change(world, job) for job in jobs]
    if not changes:
        raise ChangeError(f"drain: {told_names(chosen)} is offline already, and there is nothing to requeue")
    edit = partial(_drained, names=chosen, jobs=jobs)
    title = f"drain {chosen[0] if len(chosen) == 1 else f'{len(chosen):,} vnodes'}"
    title += f", requeue {show_count(len(jobs), 'job')}" if jobs else ""
    return Deed(title, tuple(changes), edit, ends_work=bool(jobs), notes=tuple(drain_lines(plan, world.now_s)))


def told_names(names: Sequence[str]) -> str:
    """The only name, or how many there are."""
    return names[0] if len(names) == 1 else f"each of {len(names):,} vnodes"


def _drained(picture: Picture, names: Sequence[str], jobs: Sequence[str]) -> Picture:
    return _with_state(requeued(picture, jobs), names, OFFLINE)


def _with_state(picture: Picture, names: Sequence[str], wanted: str) -> Picture:
    """The vnodes offline or not; what else their state says, such as down, stays."""
    changed = dict(picture.vnodes)
    for name in names:
        states = [state for state in changed[name].get("state", "").split(",") if state not in ("", "free", "offline")]
        states += ["offline"] if wanted == OFFLINE else []
        changed[name] = {**changed[name], "state": ",".join(states) or "free"}
    return replace(picture, vnodes=changed)


def _vnode(world: World, name: str, verb: str) -> Mapping[str, str]:
    texts = world.picture.vnodes.get(name)
    if texts is None or not _VNODE_NAME.fullmatch(name):
        raise ChangeError(f"{verb}: there is no vnode {name!r}")
    return texts


def _line(name: str, sign: str, comment: str | None = None) -> tuple[str, ...]:
    quote = "'" if comment is not None and '"' in comment else '"'
    more = "" if comment is None else f", comment = {quote}{comment}{quote}"
    return ("qmgr", "-c", f"set node {name} state {sign} offline{more}")
