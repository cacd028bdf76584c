"""The console's one screen: header, tabs, a view, and at the bottom keys, a message or a prompt.

Keys, the command line and the help all come from the registry of actions. Threads post polls and results as messages;
only this class touches widgets.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from tui.action_registry import ACTIONS, BY_NAME, MIGRATION, RESERVATIONS, key_of_view, views_of
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.backend_protocol import Backend, SteeredBackend
from tui.backends.migration_spool import MigrationSpool
from tui.command_line import CommandError
from tui.config.production_servers_and_server_list import Site
from tui.operations.alert_site_of_unknown_outcome import site_alert_of
from tui.operations.confirmation.read_only_until_unlocked import Unlock
from tui.pages.header_line import Header, header_line, speed_in_words
from tui.pages.key_hints import key_hints
from tui.pages.tab_strip import Tab, counts_of_views
from tui.screen.actions.dispatch_action import Dispatcher
from tui.screen.dialogs.lines_below_header import LEAST_LINES
from tui.screen.dialogs.operations_menu import ActMenu
from tui.screen.dialogs.unlock_production_server import UnlockDialog
from tui.screen.terminal.themes import Look
from tui.screen.views.all_views import make_views
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.base_view import View
from tui.screen.views.bases.visited_places import Place, Places
from tui.screen.views.job import JobView
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.screen.widgets.clickable_tabs import Tabs
from tui.screen.widgets.footer import Footer, ShownMessage
from tui.screen.widgets.prompt import Prompt, Typing
from tui.screen.widgets.virtual_table import Table
from tui.screen.workers.background_lookups import Lookups
from tui.screen.workers.last_polled_data_and_age import LastPolled
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
from tui.tables.filter_line import FilterError
from tui.text.screen_line import safe

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration


class MainScreen(Screen[None], inherit_bindings=False):
    """The console on one backend. ``clock`` is the wall clock, ``elapsed`` a monotonic clock, both in seconds;
    ``notice`` is a problem to begin with."""

    DEFAULT_CSS = """
    MainScreen { layers: default above; }
    MainScreen > .line { height: 1; }
    MainScreen > ContentSwitcher { height: 1fr; }
    MainScreen.short > .tabs { display: none; }
    MainScreen > .keys.typing { display: none; }
    MainScreen > .keys.typing.message { display: block; }
    """
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
        super().__init__()
        self.backend, self.simulation, self.look = backend, simulation, look
        self._clock, self._elapsed = clock, elapsed
        build = simulation.build if simulation is not None else lambda: None
        self.poller = Poller(backend, self._tell, interval_s, elapsed, forecasts, build)
        audit = AuditLog(audit_path, actor, backend.name, alert=site_alert_of(backend))
        self.runner = OperationRunner(self, audit, site, clock, forecasts)
        self.lookups = Lookups(self, backend, audit_path)
        self.spool = MigrationSpool(backend, clock)
        self.keeping = UserFiles(files, self._complain)
        self._seen = LastPolled(elapsed)
        self._unlock = Unlock()
        self._sorting = False
        self._warning = notice
        self._dispatcher = Dispatcher(self)
        self.places = Places()
        self._views = dict(make_views())
        self.views: Mapping[str, View] = self._views
        self._header, self._tabs = Paper(classes="line"), Tabs(classes="line tabs")
        self.footer = Footer()
        self._counted: tuple[ClusterView | None, dict[str, str]] = (None, {})
        self.prompt = Prompt()

    def compose(self) -> ComposeResult:
        """Header, tabs, view, keys."""
        yield self._header
        yield self._tabs
        with ContentSwitcher(initial="view-overview"):
            yield from self.views.values()
        yield self.footer
        yield self.prompt.above
        yield self.prompt

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
        # The first frame comes before the first poll, which may have a cluster to build.
        self.call_after_refresh(self.poller.start)

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
        self.lookups.trail()
        self.poller.ask()

    # What is shown.

    @property
    def cluster(self) -> ClusterView | None:
        """The latest cluster view; None before the first poll has succeeded."""
        return self._seen.cluster

    @property
    def migration(self) -> Migration | None:
        """The migrating jobs; None where the site has no other clusters, or none was read yet."""
        return self._seen.migration if MIGRATION in self.views else None

    @property
    def view(self) -> View:
        """The view that is shown."""
        current = self.query_one(ContentSwitcher).current or "view-overview"
        return self.views[current.removeprefix("view-")]

    @property
    def view_name(self) -> str:
        """The name of the view that is shown."""
        return self.view.view_name

    def _show(self) -> None:
        view = self.view
        view.set_class(self._seen.is_stale, "stale")
        shown = self._seen.shown
        self._tell_where()
        if shown is None:
            return
        try:
            view.show(shown)
        except FilterError as error:
            self.say(str(error), "bad")

    def go(self, name: str) -> None:
        """Go to a view in the state in which it was left."""
        if name != self.view_name:
            self.visit(self.views[name].place)

    def visit(self, place: Place) -> None:
        """Go to a place; the place that is left is remembered."""
        self.places.go(self.view.place, place)
        self.show(place)

    def jump(self, name: str, text: str) -> None:
        """Go to a view with a filter that comes from another view."""
        self.visit(Place(name, filter=text, jumped=True, before=self.views[name].place.filter))

    def show(self, place: Place) -> None:
        """Show a place without adding it to the places visited."""
        self.choose_column(choosing=False)
        self.query_one(ContentSwitcher).current = f"view-{place.view}"
        self.view.resume(place)
        self._show()
        self._look_again()
        self.call_after_refresh(self._show)

    def say(self, text: str, role: str = "") -> None:
        """Show a sentence in place of the keys, until the next action or for some seconds."""
        now_s = self.cluster.now_s if self.cluster is not None and self.simulation is not None else self._clock()
        self.footer.say(ShownMessage(now_s, text, role), self._elapsed())
        self.footer.set_class(self.footer.has_message, "message")

    def _tell_where(self) -> None:
        """Update the tabs and the keys."""
        cluster = self.cluster
        if cluster is not None and self._counted[0] is not cluster:
            self._counted = (cluster, counts_of_views(cluster))
        views = views_of(migrates=self.migration is not None)
        hidden = RESERVATIONS if not self._counted[1].get(RESERVATIONS) and self.view_name != RESERVATIONS else ""
        tabs = [Tab(key_of_view(name), name, self._counted[1].get(name, "")) for name in views if name != hidden]
        self._tabs.show_tabs(tabs, self.view_name, self.size.width)
        if self._seen.away:
            self.footer.hint(((f" {safe(self._seen.away)}", "bad"),))
            return
        if cluster is None:
            waits_for = "building the simulated cluster" if self.simulation is not None else "asking the server"
            self.footer.hint(((f" {waits_for}", ""),))
            return
        view = self.view
        marked = len(view.table.marked) if isinstance(view, TableView) else 0
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

    def tick(self) -> None:
        """Update the header, and take a message away whose time is over."""
        if self.footer.age(self._elapsed()):
            self.footer.remove_class("message")
        simulation = ""
        if self.simulation is not None:
            simulation = "paused" if self.simulation.paused else speed_in_words(self.simulation)
        now_s = self.cluster.now_s if self.cluster is not None and self.simulation is not None else self._clock()
        header = Header(
            self.cluster.server_name or self.backend.name if self.cluster else self.backend.name,
            self.cluster,
            self._unlock.remaining_s(self._elapsed()),
            self._seen.age_s,
            now_s,
            self._seen.away,
            simulation,
            production=self.runner.is_production,
            system=self.backend.system,
        )
        self._header.show([header_line(header, self.size.width)])

    def on_resize(self) -> None:
        """The header, the tabs and the keys depend on the width."""
        self.set_class(self.size.height < LEAST_LINES, "short")
        self.tick()
        self._tell_where()

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
        self._tell_where()

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
            self._tell_where()
            then()

        if not self.runner.is_production:
            unlock()
            return
        self.app.push_screen(UnlockDialog(self.runner.server), lambda yes: unlock() if yes else None)

    def lock_again(self) -> None:
        """Lock again."""
        self._unlock = self._unlock.closed()
        self.tick()
        self._tell_where()

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
