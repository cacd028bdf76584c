"""Changes: the lock, quotas and priorities with their preview, pausing pbsteer, and undo."""

from __future__ import annotations

from hooks.pbs.resources import PRIORITY
from policy.model.limits import EntityKey
from tui.actions import CommandError
from tui.model.typed_attributes import limit_entry
from tui.operations.operation import Operation
from tui.operations.quota_ops import change_of, check_entity, check_scope, parse_quota, show_quota
from tui.operations.server_ops import REASON, pause, resume
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.operation import Question
from tui.screen.views.quotas import QuotasView
from tui.state.quota_scope import scope_of
from tui.tables.quota_columns import show_name

_KINDS = ("u", "g", "p", "o")


class Changing:
    """The actions of the group ``change``."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def unlock(self) -> None:
        """Unlock for a while, or lock again."""
        if self._screen.turn_lock():
            self._screen.say(f"unlocked for five minutes: changes now reach {self._screen.backend.name}", "warn")
        else:
            self._screen.say("read-only again")
        self._screen.tick()

    def edit(self) -> None:
        """Change the quota under the cursor."""
        view = self._screen.view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", "")

    def quota(self, argument: str) -> None:
        """Change a quota by queue, entity and number."""
        self._ask(*_read("quota: QUEUE USER CORES, for example :quota workq carol 1024", argument), "")

    def user_priority(self, argument: str) -> None:
        """Change a priority by queue, entity and number, or the one under the cursor."""
        view = self._screen.view
        if not argument and isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", PRIORITY)
        else:
            usage = "user-priority: QUEUE USER N, for example :user-priority workq carol 10"
            self._ask(*_read(usage, argument), PRIORITY)

    def _ask(self, queue: str, entity: EntityKey, given: str, resource: str) -> None:
        screen_api = self._screen
        cluster = screen_api.known_cluster()
        what = "priority" if resource else "quota"
        scope = scope_of(cluster, check_scope(cluster, queue))
        now = limit_entry(scope.attributes(cluster.server_status), resource or scope.resource, entity)

        def prepare(text: str) -> Operation:
            return change_of(screen_api.known_cluster(), queue, entity, parse_quota(text, what), resource)

        head = f"{show_name(entity)} in {queue} · {what} now {show_quota(now)}"
        label = what if resource else scope.resource
        question = Question(head, prepare, "a number, or none", (), given, label)
        screen_api.changes.ask(question, screen_api.known_cluster)

    def pause_pbsteer(self, argument: str) -> None:
        """Pause the passes of pbsteer (they start and preempt no job); the reason is ``argument`` or typed into the
        dialog.
        """
        screen_api = self._screen
        question = Question(
            "pause pbsteer",
            lambda text: pause(screen_api.known_cluster(), text.strip()),
            "a reason",
            (),
            argument.strip() or REASON,
            "reason",
        )
        screen_api.changes.ask(question, screen_api.known_cluster)

    def resume_pbsteer(self) -> None:
        """End a pause."""
        screen_api = self._screen
        screen_api.changes.ask(
            Question("resume pbsteer", lambda _: resume(screen_api.known_cluster())), screen_api.known_cluster
        )

    def undo(self) -> None:
        """Undo the last change."""
        said = self._screen.changes.undo()
        if said:
            self._screen.say(said, "warn")


def _read(usage: str, argument: str) -> tuple[str, EntityKey, str]:
    """Queue, entity and number of a command line; the number is empty where none was typed."""
    words = argument.split()
    if len(words) not in (2, 3):
        raise CommandError(usage)
    kind, colon, name = words[1].partition(":")
    entity = check_entity(kind, name) if colon and kind in _KINDS else check_entity("u", words[1])
    return words[0], entity, words[2] if len(words) > 2 else ""
