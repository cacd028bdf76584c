"""What can be done to the server as a whole: pause pbsteer, with a reason, and let it go on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hooks.pbs.resources import PAUSED, PAUSED_ATTRIBUTE
from hooks.pbs.status import NAME, Picture
from tui.operations.change import Change, ChangeError
from tui.operations.operation import Deed
from tui.operations.readback import NONE, Plain, Target
from tui.state.cluster_view import World
from tui.text.lines import Line, safe

REASON = "paused"
"""The reason of whoever gives none."""

_LONGEST = 200


def pause(world: World, reason: str) -> Deed:
    """Start and preempt nothing from the next pass on, in any mode."""
    allowed = reason.isascii() and reason.isprintable() and not set(reason) & set("'\"\\") and reason.strip() == reason
    if not reason or len(reason) > _LONGEST or not allowed:
        raise ChangeError(
            f"reason {reason[:_LONGEST]!r}: allowed are up to {_LONGEST} printable ASCII characters, no quotes"
        )
    if PAUSED not in world.picture.resources:
        raise ChangeError(f"the server has no resource {PAUSED}: pbsteer hooks apply defines it")
    before = world.picture.server.get(PAUSED_ATTRIBUTE, "")
    if before == reason:
        raise ChangeError(f"pbsteer is paused already: {before}")
    return _deed(world, "pause pbsteer", before, reason)


def resume(world: World) -> Deed:
    """End a pause that was begun by :func:`pause`."""
    before = world.picture.server.get(PAUSED_ATTRIBUTE, "")
    if not before:
        more = ""
        if world.picture.server.get("scheduling", "") == "False":
            more = "; scheduling of the server is False: qmgr -c 'set server scheduling = True' ends that"
        raise ChangeError(f"pbsteer is not paused by name{more}")
    return _deed(world, "resume pbsteer", before, "")


def _deed(world: World, title: str, before: str, after: str) -> Deed:
    target = Target("server", world.picture.server.get(NAME, world.server_name))
    facet = Plain(PAUSED_ATTRIBUTE)
    change = Change(target, title, _argv(after), facet, before or NONE, after or NONE, _argv(before))
    means = (
        f"nothing is started or preempted by pbsteer, in any mode, until it is resumed; jobs that run go on ({after})"
        if after
        else "the next pass starts and preempts again, as the modes say"
    )
    notes: tuple[Line, ...] = (((safe(means), "warn"),),)
    return Deed(title, (change,), partial(_edited, after=after), notes=notes)


def _argv(reason: str) -> tuple[str, ...]:
    line = f'set server {PAUSED_ATTRIBUTE} = "{reason}"' if reason else f"unset server {PAUSED_ATTRIBUTE}"
    return ("qmgr", "-c", line)


def _edited(picture: Picture, after: str) -> Picture:
    server = {name: text for name, text in picture.server.items() if name != PAUSED_ATTRIBUTE}
    return replace(picture, server={**server, PAUSED_ATTRIBUTE: after} if after else server)
