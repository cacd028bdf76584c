"""The console's one screen: acts on what threads post and on what the user types or clicks.

Keys, the command line and the help all come from the registry of actions. Threads post messages; only the screen
touches widgets.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import ContentSwitcher

from tui.action_registry import ACTIONS, BY_NAME, MIGRATION
from tui.audit.audit_file import Actor, AuditLog
from tui.audit.unconfirmed_changes import LONGEST_CHANGE_S
from tui.backends.interface.backend_protocol import Backend, SteeredBackend
from tui.backends.migration_spool import MigrationSpool
from tui.command_line import CommandError
from tui.config.production_servers_and_server_list import Site
from tui.operations.alert_site_of_unknown_outcome import site_alert_of
from tui.pages.key_hints import key_hints
from tui.screen.actions.dispatch_action import Dispatcher
from tui.screen.dialogs.operation_dialog import OperationDialog
from tui.screen.dialogs.operations_menu import ActMenu
from tui.screen.dialogs.unlock_production_server import UnlockDialog
from tui.screen.terminal.themes import Look
from tui.screen.view_screen import ViewScreen
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.visited_places import Place
from tui.screen.views.job import JobView
from tui.screen.widgets.base_line_view import LineView
from tui.screen.widgets.clickable_tabs import Tabs
from tui.screen.widgets.prompt import Prompt, Typing
from tui.screen.widgets.virtual_table import Table
from tui.screen.workers.background_lookups import Lookups
from tui.screen.workers.operation_runner import OperationRunner
from tui.screen.workers.save_preferences_and_typed_lines import KeptFiles, UserFiles
from tui.screen.workers.worker_messages import (
    Counted,
    FromPoller,
    JobFilesFound,
    JobFound,
    Loaded,
    MigrationRead,
    NotKept,
    OperationEnded,
    OperationProgress,
    TakenOut,
    TrailRead,
)
from tui.state.cluster_view import ClusterView
from tui.state.server_poller import Forecasts, Polled, Poller, PollFailed, PollResult


class MainScreen(ViewScreen, inherit_bindings=False):
    """The console on one backend. ``clock`` is the wall clock, ``elapsed`` a monotonic clock, both in seconds;
    ``notice`` is a problem to begin with."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority a key acts as soon as it arrives: keys typed ahead for a prompt then go to the prompt.
        Binding(",".join(action.keys), f"do('{action.name}')", action.help, show=False, priority=True)
        for action in ACTIONS
        if action.keys
    ]

    def __init__(
        self,
        backend: Backend,
        audit_path: Path,
        actor: Actor,
        *,
        interval_s: float,
        simulation: SteeredBackend | None,
        site: Site,
        files: KeptFiles,
        look: Look,
        notice: str = "",
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
        forecasts: Forecasts | None = None,
    ) -> None:
        super().__init__(backend, simulation, site=site, clock=clock, elapsed=elapsed)
        audit = AuditLog(audit_path, actor, backend.name, alert=site_alert_of(backend))
        self.runner = OperationRunner(self, audit, site, clock, forecasts)
        self.look = look
        build = simulation.build if simulation is not None else lambda: None
        self.poller = Poller(backend, self._tell, interval_s, elapsed, forecasts, build)
        self.lookups = Lookups(self, backend, audit_path)
        self.spool = MigrationSpool(backend, clock)
        self.keeping = UserFiles(files, self._complain)
        self._sorting = False
        self._warning = notice
        self._dispatcher = Dispatcher(self)

    def on_mount(self) -> None:
        """Start polling, and the clock of the header."""
        for lines in self.query(LineView):
            lines.can_focus = False
        for view in self.views.values():
            view.can_focus = False
        for name, layout in self.keeping.preferences.layouts.items():
            known = self.views.get(name)
            if isinstance(known, TableView):
                known.layout_chosen = layout
        self._warning = self._warning or self.runner.unconfirmed() or self.keeping.problem
        self.say(self._warning, "bad")
        self.tick()
        self.set_interval(1.0, self.tick)
        # What was under way just now has its outcome by then.
        self.set_timer(LONGEST_CHANGE_S, self._report_unconfirmed)
        # The first frame comes before the first poll, which may have a cluster to build.
        self.call_after_refresh(self.poller.start)

    def _report_unconfirmed(self) -> None:
        found = self.runner.unconfirmed()
        if found:
            self.say(found, "bad")

    def on_unmount(self) -> None:
        """Stop polling, and the operation under way after the command that is being sent."""
        self.runner.halt()
        self.poller.stop()

    # Messages from threads.

    def _complain(self, problem: str) -> None:
        """Called from the thread that writes the user's files."""
        self.post_message(NotKept(problem))

    def _tell(self, news: PollResult) -> None:
        """Called from the poller's thread."""
        self.post_message(FromPoller(news))

    def on_from_poller(self, message: FromPoller) -> None:
        """A poll succeeded or failed."""
        news = message.news
        if isinstance(news, PollFailed):
            self._seen.fail(news)
            self.say(f"trying again in {news.again_s:.0f} s: {news.text}", "bad")
            self._show()
        elif isinstance(news, Polled):
            is_first = self.cluster is None
            for view in self.views.values():
                if view is not self.view:
                    view.forget_shown()
            answers_again = self._seen.take_poll(news)
            # What a key typed before the first poll was told stays.
            if answers_again or (is_first and self._warning):
                sentence = self._warning if is_first else "the server answers again"
                self.say(sentence, "bad" if sentence == self._warning and sentence else "good")
            self._show()
            self._look_again()
        self.tick()

    def _look_again(self) -> None:
        """Start the lookups that the shown view needs, once per poll."""
        if isinstance(self.view, JobView):
            self.lookups.job(self.view.job_id)
        elif self.view_name in ("overview", "audit"):
            self.lookups.trail()
        self.lookups.migration(self.spool)

    def on_job_found(self, message: JobFound) -> None:
        """The lookup of one job has ended."""
        view = self.views["job"]
        if isinstance(view, JobView):
            view.show_detail(message.detail)

    def on_job_view_files_wanted(self, message: JobView.FilesWanted) -> None:
        """A page of a job is shown that needs its script or its log."""
        message.stop()
        view = self.views["job"]
        if isinstance(view, JobView):
            self.lookups.job_files(view.job_id, view.age_s)

    def on_job_files_found(self, message: JobFilesFound) -> None:
        """The lookup of a job's script and log has ended."""
        view = self.views["job"]
        if isinstance(view, JobView):
            view.show_files(message.files)

    def on_trail_read(self, message: TrailRead) -> None:
        """The audit file was read."""
        if self._seen.read_trail(message.records, message.problem):
            self._show()

    async def on_migration_read(self, message: MigrationRead) -> None:
        """Migration's files were read. A site gets the view with the first look that finds other clusters."""
        self._seen.migration = message.migration
        if message.migration is not None and MIGRATION not in self.views:
            from tui.screen.views.migration import MigrationView  # noqa: PLC0415 - most sites never need it

            view = MigrationView()
            view.display = view.can_focus = view.table.can_focus = False
            self._views[MIGRATION] = view
            await self.query_one(ContentSwitcher).mount(view)
            layout = self.keeping.preferences.layouts.get(MIGRATION)
            view.layout_chosen = layout or view.layout_chosen
        if self.view_name == MIGRATION:
            if message.migration is None:
                self.go("overview")
            else:
                self._show()

    def on_loaded(self, message: Loaded) -> None:
        """A trace was loaded, or could not be."""
        if message.problem:
            self.say(message.problem.replace("--cluster NODESxCORES", ":load FILE NODESxCORES"), "bad")
            return
        when = "once it is resumed" if self.simulation is not None and self.simulation.paused else "from now on"
        self.say(f"loaded {message.path.name}: its jobs arrive {when}", "good")
        self._seen.begin_history()
        self.poller.ask()

    def on_not_kept(self, message: NotKept) -> None:
        """Preferences or typed lines could not be written."""
        self.say(message.problem, "bad")

    def on_operation_progress(self, message: OperationProgress) -> None:
        """An operation is under way."""
        self.say(
            f"{message.operation.title}: {message.made:,} of {len(message.operation.changes):,} done; :halt stops it",
            "warn",
        )

    def on_operation_ended(self, message: OperationEnded) -> None:
        """An operation has ended: done, done in part, or failed."""
        text = self.runner.finish(message)
        whole = all(outcome.ok for outcome in message.outcomes)
        self.say(text, "good" if whole else "bad")
        if isinstance(self.app.screen, OperationDialog):
            # It was opened meanwhile, and said that this one was still running.
            self.app.screen.show_keys()
        self.lookups.trail()
        self.poller.ask()

    # What is shown.

    def show(self, place: Place) -> None:
        """Show a place, and look up what it needs; a column is no longer chosen then."""
        self.choose_column(choosing=False)
        super().show(place)
        self._look_again()

    def _update_tabs_and_keys(self) -> None:
        super()._update_tabs_and_keys()
        if self.cluster is not None and not self._seen.away:
            marked = len(self.view.table.marked) if isinstance(self.view, TableView) else 0
            self.footer.hint(key_hints(self._dispatcher.situation, marked, self.size.width))

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """The name of a view was clicked."""
        message.stop()
        self.action_do(f"view-{message.view}")

    def on_table_opened(self, message: Table.Opened) -> None:
        """A row was clicked twice."""
        message.stop()
        self.action_do("into")

    def on_table_sort_asked(self, message: Table.SortAsked) -> None:
        """The header of a column was clicked."""
        message.stop()
        self.action_do("sort", message.column)

    # What users do.

    def on_key(self, event: Key) -> None:
        """After ``s`` the next key chooses the column."""
        if not self._sorting or self.prompt.is_open:
            return
        event.stop()
        event.prevent_default()
        view = self.view
        self.choose_column(choosing=False)
        column = None
        if isinstance(view, TableView) and event.character:
            column = "default" if event.character == "s" else view.table.column_of_key(event.character)
        if column:
            self.action_do("sort", column)
        else:
            self.say("not sorted")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are actions, except while a line is typed or a column chosen."""
        typing = self.prompt.is_open or self._sorting
        if action == "do" and self.migration is None and BY_NAME[str(parameters[0])].migrates:
            return False
        return not typing and super().check_action(action, parameters)

    def act_by_name(self, name: str, argument: str) -> None:
        """Run another action, as if it had been typed."""
        self.action_do(name, argument)

    def action_do(self, name: str, argument: str = "") -> None:
        """Run an action by its name, or show why it is not available; either way the message before has been read."""
        self.footer.clear_message()
        self._dispatcher.do(name, argument)
        self._update_tabs_and_keys()

    def is_unlocked(self) -> bool:
        """Whether changes are allowed now."""
        return self._unlock.is_open(self._elapsed())

    def known_cluster(self) -> ClusterView:
        """The latest cluster view; raises :class:`CommandError` before the first poll has succeeded."""
        if self.cluster is None:
            raise CommandError("no answer from the server yet")
        return self.cluster

    def ask_to_unlock(self, then: Callable[[], object]) -> None:
        """Unlock for a while, on a production server after a yes, then call ``then``."""

        def unlock() -> None:
            self._unlock = self._unlock.opened(self._elapsed())
            self.tick()
            self._update_tabs_and_keys()
            then()

        if not self.runner.is_production:
            unlock()
            return
        self.app.push_screen(UnlockDialog(self.runner.server), lambda yes: unlock() if yes else None)

    def lock_again(self) -> None:
        """Lock again."""
        self._unlock = self._unlock.closed()
        self.tick()
        self._update_tabs_and_keys()

    def choose_column(self, *, choosing: bool) -> None:
        """Number the columns and take the next key as the column to sort by, or stop doing so."""
        view = self.view
        if isinstance(view, TableView) and choosing != self._sorting:
            view.table.number_columns(choosing)
            self.say(view.table.sort_keys if choosing else "")
        self._sorting = choosing

    def on_table_refitted(self, _: Table.Refitted) -> None:
        """Another width has other columns; a view shown for the first time gets its width after the key, too."""
        if self._sorting and isinstance(self.view, TableView):
            self.say(self.view.table.sort_keys)

    def on_taken_out(self, message: TakenOut) -> None:
        """An export was written, or failed."""
        self.say(message.text, "good" if message.ok else "bad")

    def choose(self, menu: ActMenu) -> None:
        """Open a menu; the chosen item is then opened."""
        self.app.push_screen(menu, lambda item: None if item is None else self._dispatcher.attempt(item.open))

    def run_outside(self, argv: Sequence[str]) -> None:
        """Leave the terminal to a program until it ends."""
        try:
            with self.app.suspend():
                status = subprocess.run(list(argv), check=False).returncode
        except SuspendNotSupported:
            self.say(f"{argv[0]}: this terminal cannot be left to another program", "bad")
        except OSError as error:
            self.say(f"{argv[0]}: {error.strerror}", "bad")
        else:
            self.say(f"{' '.join(argv)}: ended with {status}" if status else f"{' '.join(argv)}: ended")

    def open_prompt(self, prefix: str, text: str, typing: Typing) -> None:
        """Open the prompt in place of the keys."""
        self.footer.add_class("typing")
        self.prompt.open(prefix, text, typing._replace(before=self.keeping.typed.lines.get(prefix, ())))

    def on_prompt_closed(self, _: Prompt.Closed) -> None:
        """Show the keys again."""
        self.footer.remove_class("typing")
        self.set_focus(None)

    def on_prompt_rejected(self, message: Prompt.Rejected) -> None:
        """The line cannot be parsed; the prompt stays open."""
        self.say(message.text, "bad")

    def on_prompt_entered(self, message: Prompt.Entered) -> None:
        """A line was entered: remember it and run it."""
        self.keeping.remember(message.prefix, message.text)
        self._dispatcher.attempt(lambda: self.prompt.typing.enter(message.text))

    def on_counted(self, message: Counted) -> None:
        """The number of rows that the typed filter would show."""
        self.prompt.show_note(f"{message.rows:,} rows", message.text)
