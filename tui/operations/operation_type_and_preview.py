"""An operation as a list of changes: what an administrator does to jobs, vnodes or queues at once.

It is made from what the screen shows, by the ids and names recorded when it was chosen. It leaves out targets where it
makes no sense, with the reason, and can edit the server status to what it would be afterwards, for the preview.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policy.explain.change_preview import Preview, compare
from tui.backends.interface.commands_interface import Change, ChangeError
from tui.operations.status_edits_for_preview import Edit
from tui.state.cluster_view import ClusterView
from tui.state.snapshot_by_last_pass import translate_by_last_pass
from tui.text.screen_line import Line

UNAFFECTED = "no start, preemption or reservation of the next pass changes"
CONSOLE, COMMAND_LINE = ":", "pbsteer do "
"""What is typed before a verb on the screen, and in a shell."""
SAME_PLAN = "what is decided stays the same; what is done of it changes as said above"


@dataclass(frozen=True)
class Operation:
    """``title`` is its short name for people; ``changes`` are made in order; ``edit`` turns the server status into the
    one after the operation. ``ends_work`` is True if it ends work that cannot be brought back; ``ended`` are the
    jobs that it ends, where these are not just its targets. ``left_out`` has a reason for each target left out;
    ``notes`` are lines to read before deciding. ``unmet`` says what it does not achieve even if all changes are
    made. ``unaffected`` is the sentence for an operation after which the same is decided. ``undoes``: the
    operation that this one undoes. ``changes_decisions`` is False where no decision goes by what it changes, so
    that there is nothing to forecast."""

    title: str
    changes: tuple[Change, ...]
    edit: Edit
    ends_work: bool = False
    ended: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[Line, ...] = ()
    unmet: tuple[str, ...] = ()
    unaffected: str = UNAFFECTED
    undoes: Operation | None = None
    changes_decisions: bool = True

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the targets, each once."""
        return tuple(dict.fromkeys(change.target.name for change in self.changes))


def preview_operation(cluster: ClusterView, operation: Operation) -> Preview:
    """What the operation does to running and waiting jobs: decides on the server status before and after it, compares.

    Raises :class:`ChangeError` for a queue that pbsteer does not serve.
    """
    for change in operation.changes:
        if change.target.kind == "queue" and change.target.name not in cluster.modes:
            raise ChangeError(
                f"queue {change.target.name!r} is not one that pbsteer decides about: nothing there starts by it"
            )
    # Own snapshots: versions of one snapshot belong to one thread, and this may run long in a thread of its own.
    before = translate_by_last_pass(cluster.server_status, cluster.settings, cluster.passes).snapshot
    after = translate_by_last_pass(operation.edit(cluster.server_status), cluster.settings, cluster.passes).snapshot
    return compare(before, after, cluster.ledger, cluster.settings)


def changes_to(
    verb: str, kind: str, names: Sequence[str], change_of: Callable[[str], Change]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The change for each name, each once, and the reasons for those left out.

    Raises :class:`ChangeError` with the first reason if no change remains, or if no name was given.
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


def name_targets(changes: Sequence[Change], kind: str) -> str:
    """The targets in words: the name of a single one, else ``40 jobs``."""
    targets = list(dict.fromkeys(change.target.name for change in changes))
    if len(targets) > 1:
        return f"{len(targets):,} {kind}s"
    return targets[0].partition(".")[0] if kind == "job" else targets[0]
