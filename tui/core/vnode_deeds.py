"""What can be done to vnodes: take them out of use, put them back, drain them with or without requeueing their jobs.

By ``qmgr`` on the vnode itself: ``pbsnodes -o`` takes a host's name and means all vnodes of that host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hooks.picture import Picture
from policy.units import show_count
from tui.core.change import Change, ChangeError
from tui.core.deeds import Deed, changes_to, told_of
from tui.core.drain import DRAINED_BY, drain_lines, plan_drain
from tui.core.edits import requeued
from tui.core.facets import IN_USE, OFFLINE, Offline, OfflineWhy, Target
from tui.core.job_deeds import requeue_change
from tui.core.world import World

DRAIN_WAYS = ("wait", "requeue")
_VNODE_NAME = re.compile(r"[\w.@+\[\]-]+")


def offline(world: World, names: Sequence[str]) -> Deed:
    """Take vnodes out of use: their jobs go on, no new one starts there."""
    return _set_state(world, names, "offline", OFFLINE)


def clear(world: World, names: Sequence[str]) -> Deed:
    """Put vnodes back into use."""
    return _set_state(world, names, "clear", IN_USE)


def _set_state(world: World, names: Sequence[str], verb: str, wanted: str) -> Deed:
    facet = Offline()

    def change(name: str) -> Change:
        before = facet.of(_vnode(world, name, verb))
        if before == wanted:
            raise ChangeError(f"{verb}: {name} is {wanted} already")
        argv, back = (_line(name, sign) for sign in (("+=", "-=") if wanted == OFFLINE else ("-=", "+=")))
        return Change(Target("vnode", name), f"{verb} {name}", argv, facet, before, wanted, back)

    changes, left_out = changes_to(verb, "vnode", names, change)
    edit = partial(_with_state, names=[change.target.name for change in changes], wanted=wanted)
    return Deed(f"{verb} {told_of(changes, 'vnode')}", changes, edit, left_out=left_out)


def drain(world: World, names: Sequence[str], way: str, user: str) -> Deed:
    """Take vnodes out of use with a comment that says who drains them, and requeue the jobs there if ``way`` says so.

    Vnodes that are offline already stay as they are. Jobs that must not run again are left to their end.
    """
    if way not in DRAIN_WAYS:
        raise ChangeError(f"drain {way!r}: allowed is {' or '.join(DRAIN_WAYS)}")
    chosen = [name for name in dict.fromkeys(names) if _vnode(world, name, "drain")]
    if not chosen:
        raise ChangeError("drain: which vnode?")
    plan = plan_drain(world, chosen)
    comment = f"{DRAINED_BY} {re.sub(r'[^A-Za-z0-9_.@-]', '_', user)[:40]}"
    facet = OfflineWhy()
    changes = []
    for name in chosen:
        texts = world.picture.vnodes[name]
        if Offline().of(texts) != OFFLINE:
            after = facet.of({"state": "offline", "comment": comment})
            argv, back = _line(name, "+=", comment), _back(name, texts.get("comment", ""))
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


def _back(name: str, comment: str) -> tuple[str, ...]:
    """The way back to an earlier comment; none where qmgr has no quotes left to give it in."""
    if ("'" in comment and '"' in comment) or not comment.isprintable():
        return ()
    return _line(name, "-=", comment)
