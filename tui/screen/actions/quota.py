"""Changing: the lock, quotas and priorities with their preview, and undo."""

from __future__ import annotations

from hooks.pbs.resources import PRIORITY
from policy.model.limits import EntityKey
from tui.actions import CommandError
from tui.model.typed_attributes import limit_entry
from tui.operations.operation import Deed
from tui.operations.quota_ops import change_of, check_entity, check_scope, parse_quota, show_quota
from tui.operations.server_ops import REASON, pause, resume
from tui.screen.actions.screen_api import Desk
from tui.screen.dialogs.operation import Question
from tui.screen.views.quotas import QuotasView
from tui.state.quota_scope import scope_of
from tui.tables.quota_columns import show_name

_KINDS = ("u", "g", "p", "o")


class Changing:
    """The actions of the group ``change``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def unlock(self) -> None:
        """Unlock for a while, or lock again."""
        if self._desk.turn_lock():
            self._desk.say(f"unlocked for five minutes: changes now reach {self._desk.source.name}", "warn")
        else:
            self._desk.say("read-only again")
        self._desk.tick()

    def edit(self) -> None:
        """Change the quota under the cursor."""
        view = self._desk.view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", "")

    def quota(self, argument: str) -> None:
        """Change a quota by queue, entity and number."""
        self._ask(*_read("quota: QUEUE USER CORES, for example :quota workq carol 1024", argument), "")

    def user_priority(self, argument: str) -> None:
        """Change a priority by queue, entity and number, or the one under the cursor."""
        view = self._desk.view
        if not argument and isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", PRIORITY)
        else:
            usage = "user-priority: QUEUE USER N, for example :user-priority workq carol 10"
            self._ask(*_read(usage, argument), PRIORITY)

    def _ask(self, queue: str, entity: EntityKey, given: str, resource: str) -> None:
        desk = self._desk
        world = desk.known_world()
        what = "priority" if resource else "quota"
        scope = scope_of(world, check_scope(world, queue))
        now = limit_entry(scope.attributes(world.picture), resource or scope.resource, entity)

        def prepare(text: str) -> Deed:
            return change_of(desk.known_world(), queue, entity, parse_quota(text, what), resource)

        head = f"{show_name(entity)} in {queue} · {what} now {show_quota(now)}"
        label = what if resource else scope.resource
        question = Question(head, prepare, "a number, or none", (), given, label)
        desk.changes.ask(question, desk.known_world)

    def pause_pbsteer(self, argument: str) -> None:
        """Have the passes start and preempt nothing, for the reason on the line or the one typed into the dialog."""
        desk = self._desk
        question = Question(
            "pause pbsteer",
            lambda text: pause(desk.known_world(), text.strip()),
            "a reason",
            (),
            argument.strip() or REASON,
            "reason",
        )
        desk.changes.ask(question, desk.known_world)

    def resume_pbsteer(self) -> None:
        """End a pause by name."""
        desk = self._desk
        desk.changes.ask(Question("resume pbsteer", lambda _: resume(desk.known_world())), desk.known_world)

    def undo(self) -> None:
        """Take the last change back."""
        said = self._desk.changes.undo()
        if said:
            self._desk.say(said, "warn")


def _read(usage: str, argument: str) -> tuple[str, EntityKey, str]:
    """Queue, entity and number of a command line, the number empty where none was typed."""
    words = argument.split()
    if len(words) not in (2, 3):
        raise CommandError(usage)
    kind, colon, name = words[1].partition(":")
    entity = check_entity(kind, name) if colon and kind in _KINDS else check_entity("u", words[1])
    return words[0], entity, words[2] if len(words) > 2 else ""
