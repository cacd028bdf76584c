"""A deed: what an administrator does to jobs, vnodes or queues in one go, as the changes it consists of.

A deed is made from what is on the screen, by ids and names that were taken down when it was chosen. It leaves out what
makes no sense there, with the reason, and knows the picture as it would be afterwards, which the preview is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hooks.translate.snapshot import translate
from policy.explain.preview import Preview, compare
from tui.operations.change import Change, ChangeError
from tui.operations.status_edits import Edit
from tui.state.cluster_view import World
from tui.text.lines import Line


@dataclass(frozen=True)
class Deed:
    """``title`` is what a person calls it, ``changes`` what it consists of, in order; ``edit`` makes the picture as it
    would be afterwards. ``ends_work`` is True where work is ended that nothing brings back. ``left_out`` says what it
    is not done to, and why; ``notes`` are lines that somebody who decides should read. ``unmet`` says what it does not
    bring about though all changes are made."""

    title: str
    changes: tuple[Change, ...]
    edit: Edit
    ends_work: bool = False
    left_out: tuple[str, ...] = ()
    notes: tuple[Line, ...] = ()
    unmet: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of what it is done to, each once."""
        return tuple(dict.fromkeys(change.target.name for change in self.changes))


def foresee(world: World, deed: Deed) -> Preview:
    """What the deed would do to the jobs now running and waiting: the same decision on the picture as it would be.

    Raises :class:`ChangeError` for a queue that pbsteer does not decide about.
    """
    for change in deed.changes:
        if change.target.kind == "queue" and change.target.name not in world.modes:
            raise ChangeError(
                f"queue {change.target.name!r} is not one that pbsteer decides about: nothing there starts by it"
            )
    # Snapshots of their own, since versions of one snapshot belong to one thread, and this may take a while in another.
    before = translate(world.picture, world.settings).snapshot
    after = translate(deed.edit(world.picture), world.settings).snapshot
    return compare(before, after, world.ledger, world.settings)


def changes_to(
    verb: str, kind: str, names: Sequence[str], change_of: Callable[[str], Change]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The change to each of the names, each once, and why some are left out.

    Raises :class:`ChangeError` with the first reason where none is left, or none was named.
    """
    changes, left_out = [], []
    for name in dict.fromkeys(names):
        try:
            changes.append(change_of(name))
        except ChangeError as error:  # noqa: PERF203 - a refusal of one is no refusal of all
            left_out.append(str(error))
    if not changes:
        raise ChangeError(left_out[0] if left_out else f"{verb}: which {kind}?")
    return tuple(changes), tuple(left_out)


def told_of(changes: Sequence[Change], kind: str) -> str:
    """What the changes are made to: the name of the only one, else ``40 jobs``."""
    targets = list(dict.fromkeys(change.target.name for change in changes))
    if len(targets) > 1:
        return f"{len(targets):,} {kind}s"
    return targets[0].partition(".")[0] if kind == "job" else targets[0]
