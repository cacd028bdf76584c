"""Actions that change quotas and priorities, with a preview, pause pbsteer, undo changes, and lock or unlock them."""

from __future__ import annotations

from hooks.pbs.custom_resources import PRIORITY
from policy.model.limit_attributes import EntityKey
from tui.backends.interface.commands_interface import Commands, demand_supported
from tui.backends.interface.read_value_before_and_after_change import show_limit
from tui.command_line import CommandError
from tui.model.typed_attributes import limit_entry
from tui.operations.by_target.pause_ops import REASON, pause, resume
from tui.operations.by_target.soft_quota_priority_and_import_ops import check_scope, set_quota
from tui.operations.operation_type_and_preview import Operation
from tui.quota_files.parse_typed_quota import parse_entity, parse_quota
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.operation_dialog import Question, open_dialog
from tui.screen.views.quotas import QuotasView
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import scope_of
from tui.tables.columns_by_view.quota_rows_and_columns import show_name


class QuotaActions:
    """The actions of the group ``change``."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def unlock(self) -> None:
        """Unlock for a while, or lock again."""
        if self._screen.is_unlocked():
            self._screen.lock_again()
            self._screen.say("read-only again")
        else:
            name = self._screen.runner.server
            self._screen.ask_to_unlock(
                lambda: self._screen.say(f"unlocked for five minutes: changes now reach {name}", "warn")
            )

    def edit(self) -> None:
        """Change the quota under the cursor."""
        view = self._screen.view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", "")

    def quota(self, argument: str) -> None:
        """Change a quota by queue, entity and number."""
        self._ask(*self._read("quota: QUEUE USER CORES, for example :quota workq carol 1024", argument), "")

    def user_priority(self, argument: str) -> None:
        """Change a priority by queue, entity and number, or the one under the cursor."""
        view = self._screen.view
        if not argument and isinstance(view, QuotasView) and view.table.cursor is not None:
            self._ask(view.queue, view.table.cursor, "", PRIORITY)
        else:
            usage = "user-priority: QUEUE USER N, for example :user-priority workq carol 10"
            self._ask(*self._read(usage, argument), PRIORITY)

    def _ask(self, queue: str, entity: EntityKey, given: str, resource: str) -> None:
        cluster = self._screen.known_cluster()
        demand_supported(self._screen.backend.commands, "user-priority" if resource else "quota")
        what = "priority" if resource else "quota"
        scope = scope_of(cluster, check_scope(cluster, queue))
        now = limit_entry(scope.attributes(cluster.server_status), resource or scope.resource, entity)

        def make(cluster: ClusterView, commands: Commands, text: str) -> Operation:
            return set_quota(cluster, commands, queue, entity, parse_quota(text, what), resource)

        head = f"{show_name(entity)} in {queue} · {what} now {show_limit(now)}"
        label = what if resource else scope.resource
        self._open(Question(head, make, "a number, or none", (), given, label))

    def pause_pbsteer(self, argument: str) -> None:
        """Pause the passes of pbsteer (they start and preempt no job); the reason is ``argument`` or typed into the
        dialog.
        """
        given = argument.strip() or REASON
        self._open(Question("pause pbsteer", pause, "a reason", (), given, "reason"))

    def resume_pbsteer(self) -> None:
        """End a pause."""
        self._open(Question("resume pbsteer", lambda cluster, commands, _: resume(cluster, commands)))

    def _open(self, question: Question) -> None:
        open_dialog(self._screen.app, question, self._screen.runner)

    def undo(self) -> None:
        """Show what undoing the last change would do, to be confirmed like any other change."""
        title, make = self._screen.runner.last_done()
        if make is None:
            self._screen.say(title, "warn")
        else:
            self._open(Question(f"undo: {title}", make))

    def _read(self, usage: str, argument: str) -> tuple[str, EntityKey, str]:
        """Queue, entity and number of a command line; the number is empty where none was typed."""
        words = argument.split()
        if len(words) not in (2, 3):
            raise CommandError(usage)
        entity = parse_entity(self._screen.backend.commands, words[1])
        return words[0], entity, words[2] if len(words) > 2 else ""
