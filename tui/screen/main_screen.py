"""The console's one screen: header, a view, a message line, keys or a prompt; every action arrives at one place.

Keys, the command line and the help all come from the registry of actions. An action that is not available says why.
Pictures and results arrive as messages from threads; this class alone touches widgets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from tui.actions import ACTIONS, CommandError
from tui.audit.log import Actor, AuditLog
from tui.backends.base import SimulatedSource, Source
from tui.config.site import Site
from tui.operations.alert_site import teller_of
from tui.operations.unlock import Unlock
from tui.pages.header import Header, header_line
from tui.screen.actions.dispatch import ByName
from tui.screen.dialogs.menu import ActMenu
from tui.screen.dialogs.operation import DeedDialog
from tui.screen.terminal.themes import Look
from tui.screen.views.all_views import make_views
from tui.screen.views.base import View
from tui.screen.views.navigation import Place, Places
from tui.screen.views.pages import JobView
from tui.screen.views.tables import TableView
from tui.screen.widgets.lines import LineView, Paper
from tui.screen.widgets.prompt import Prompt, Typing
from tui.screen.workers.lookups import Lookups
from tui.screen.workers.messages import (
    Counted,
    Foreseen,
    FromPoller,
    JobFound,
    Loaded,
    Made,
    Making,
    NotKept,
    TakenOut,
    TrailRead,
)
from tui.screen.workers.operation_runner import Changes
from tui.screen.workers.shown_state import Seen
from tui.screen.workers.user_files import Keeping, KeptFiles
from tui.state.cluster_view import World
from tui.state.poller import News, Polled, Poller, PollFailed
from tui.tables.filters import FilterError
from tui.text.lines import safe

_HINTS = "? help  / filter  : go  tab next view"


class MainScreen(Screen[None], inherit_bindings=False):
    """The console on one source. ``clock`` is the wall clock, ``elapsed`` a monotonic one."""

    DEFAULT_CSS = """
    MainScreen > .line { height: 1; }
    MainScreen > ContentSwitcher { height: 1fr; }
    MainScreen > .keys.typing { display: none; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority a key acts as soon as it comes: what was typed ahead of a prompt then belongs to the prompt.
        Binding(",".join(action.keys), f"do('{action.name}')", action.help, show=False, priority=True)
        for action in ACTIONS
        if action.keys
    ]

    def __init__(
        self,
        source: Source,
        audit_path: Path,
        actor: Actor,
        *,
        interval_s: float,
        simulation: SimulatedSource | None,
        site: Site,
        files: KeptFiles,
        look: Look,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.source, self.simulation, self.look = source, simulation, look
        self._clock, self._elapsed = clock, elapsed
        self.poller = Poller(source, self._tell, interval_s, elapsed)
        self.changes = Changes(
            self,
            source,
            AuditLog(audit_path, actor, source.name, tell=teller_of(source)),
            self.is_unlocked,
            self.turn_lock,
            site,
            clock,
        )
        self.lookups = Lookups(self, source, audit_path)
        self.keeping = Keeping(files, self._complain)
        self._seen = Seen(elapsed)
        self._unlock = Unlock()
        self._sorting = False
        self._warning = ""
        self._by_name = ByName(self)
        self.places = Places()
        self.views = make_views()
        self._header, self._message, self._keys = (
            Paper(classes="line"),
            Paper(classes="line"),
            Paper(classes="line keys"),
        )
        self.prompt = Prompt()

    def compose(self) -> ComposeResult:
        """Header, view, message, keys."""
        yield self._header
        with ContentSwitcher(initial="view-overview"):
            yield from self.views.values()
        yield self._message
        yield self._keys
        yield self.prompt

    def on_mount(self) -> None:
        """Start polling, and the clock in the header."""
        for lines in self.query(LineView):
            lines.can_focus = False
        for view in self.views.values():
            view.can_focus = False
        self._keys.show([((f" {_HINTS}", "dim"),)])
        for name, layout in self.keeping.preferences.layouts.items():
            known = self.views.get(name)
            if isinstance(known, TableView):
                known.layout_chosen = layout
        self._warning = self.changes.unconfirmed() or self.keeping.problem
        self.say(self._warning or f"asking {self.source.name or 'the server'}", "bad" if self._warning else "")
        self.tick()
        self.set_interval(1.0, self.tick)
        self.poller.start()

    def on_unmount(self) -> None:
        """Stop polling, and what is under way after the command that is being sent."""
        self.changes.halt()
        self.poller.stop()

    # What threads tell.

    def _complain(self, problem: str) -> None:
        """Called from the thread that writes the user's files."""
        self.post_message(NotKept(problem))

    def _tell(self, news: News) -> None:
        """Called from the poller's thread."""
        self.post_message(FromPoller(news))

    def on_from_poller(self, message: FromPoller) -> None:
        """A picture, or why there is none."""
        news = message.news
        if isinstance(news, PollFailed):
            self._seen.fail(news)
            self.say(f"{news.text}; trying again in {news.again_s:.0f} s", "bad")
            self.view.set_class(self._seen.is_stale, "stale")
        elif isinstance(news, Polled):
            is_first = self.world is None
            if self._seen.see(news) or is_first:
                said = self._warning if is_first else "the server answers again"
                self.say(said, "bad" if said == self._warning and said else "good")
            self._show()
            self._look_again()
        self.tick()

    def _look_again(self) -> None:
        """What else the view shows, looked up once for each poll."""
        if isinstance(self.view, JobView):
            self.lookups.job(self.view.job_id)
        elif self.view_name in ("overview", "audit"):
            self.lookups.trail()

    def on_job_found(self, message: JobFound) -> None:
        """One job was looked up."""
        view = self.views["job"]
        if isinstance(view, JobView):
            view.tell(message.detail)

    def on_trail_read(self, message: TrailRead) -> None:
        """The audit file was read."""
        if self._seen.read_trail(message.records, message.problem):
            self._show()

    def on_loaded(self, message: Loaded) -> None:
        """A trace was loaded, or not."""
        if message.problem:
            self.say(message.problem.replace("--cluster NODESxCORES", ":load FILE NODESxCORES"), "bad")
            return
        self.say(f"loaded {message.path.name}: its jobs arrive from now on", "good")
        self._seen.begin_history()
        self.poller.ask()

    def on_not_kept(self, message: NotKept) -> None:
        """Preferences or lines typed before could not be written."""
        self.say(message.problem, "bad")

    def on_foreseen(self, message: Foreseen) -> None:
        """A preview is ready."""
        dialog = self.app.screen
        if isinstance(dialog, DeedDialog):
            dialog.show_effects(message.deed, message.lines)

    def on_making(self, message: Making) -> None:
        """A deed is under way."""
        self.say(
            f"{message.deed.title}: {message.made:,} of {len(message.deed.changes):,} done; :halt stops it", "warn"
        )

    def on_made(self, message: Made) -> None:
        """A change was made, or not."""
        text = self.changes.made(message)
        whole = all(outcome.ok for outcome in message.outcomes)
        self.say(text, "good" if whole else "bad")
        self.lookups.trail()
        self.poller.ask()

    # What is on the screen.

    @property
    def world(self) -> World | None:
        """The world as it was seen last; None before the first answer."""
        return self._seen.world

    @property
    def view(self) -> View:
        """The view that is shown."""
        current = self.query_one(ContentSwitcher).current or "view-overview"
        return self.views[current.removeprefix("view-")]

    @property
    def view_name(self) -> str:
        """The view that is shown."""
        return self.view.view_name

    def _show(self) -> None:
        view = self.view
        view.set_class(self._seen.is_stale, "stale")
        shown = self._seen.shown
        if shown is None:
            return
        try:
            view.show(shown)
        except FilterError as error:
            self.say(str(error), "bad")

    def go(self, name: str) -> None:
        """Go to a view as it was left."""
        if name != self.view_name:
            self.visit(self.views[name].place)

    def visit(self, place: Place) -> None:
        """Go to a place, and remember the one that is left."""
        self.places.go(self.view.place, place)
        self.show(place)

    def jump(self, name: str, text: str) -> None:
        """Go to a view filtered by what was found elsewhere."""
        self.visit(Place(name, filter=text, jumped=True, before=self.views[name].place.filter))

    def show(self, place: Place) -> None:
        """Show a place that is already on the way."""
        self.choose_column(choosing=False)
        self.query_one(ContentSwitcher).current = f"view-{place.view}"
        self.view.resume(place)
        self._show()
        self._look_again()
        self.call_after_refresh(self._show)

    def say(self, text: str, role: str = "") -> None:
        """Put a sentence on the message line."""
        self._message.show([((f" {safe(text)}", role),)])

    def tick(self) -> None:
        """Write the header anew."""
        simulation = ""
        if self.simulation is not None:
            simulation = "paused" if self.simulation.paused else f"×{self.simulation.speed:,}"
        now_s = self.world.now_s if self.world is not None and self.simulation is not None else self._clock()
        header = Header(
            self.world.server_name or self.source.name if self.world else self.source.name,
            self.world,
            self._unlock.remaining_s(self._elapsed()),
            self._seen.age_s,
            now_s,
            self._seen.away,
            simulation,
        )
        self._header.show([header_line(header, self.size.width)])

    def on_resize(self) -> None:
        """The header is made for a width."""
        self.tick()

    # What is done.

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
        """Keys are actions unless a line or a column is being typed."""
        typing = self.prompt.is_open or self._sorting
        return not typing and super().check_action(action, parameters)

    def act_by_name(self, name: str, argument: str) -> None:
        """Do another action, as if it had been typed."""
        self.action_do(name, argument)

    def action_do(self, name: str, argument: str = "") -> None:
        """Do an action by name, or say why it is not available."""
        self._by_name.do(name, argument)

    def is_unlocked(self) -> bool:
        """Whether changes may be made just now."""
        return self._unlock.is_open(self._elapsed())

    def known_world(self) -> World:
        """The world; raises :class:`CommandError` before the first answer."""
        if self.world is None:
            raise CommandError("no answer from the server yet")
        return self.world

    def turn_lock(self) -> bool:
        """Unlock for a while, or lock again; gives whether it is unlocked now."""
        unlocked = self.is_unlocked()
        self._unlock = self._unlock.closed() if unlocked else self._unlock.opened(self._elapsed())
        self.tick()
        return not unlocked

    def choose_column(self, *, choosing: bool) -> None:
        """Number the columns and take the next key as one of them, or stop that."""
        view = self.view
        if isinstance(view, TableView) and choosing != self._sorting:
            view.table.number_columns(choosing)
            self.say("sort by which column? its key; s takes the sort away, any other key leaves" if choosing else "")
        self._sorting = choosing

    def on_taken_out(self, message: TakenOut) -> None:
        """Something was written out, or not."""
        self.say(message.text, "good" if message.ok else "bad")

    def choose(self, menu: ActMenu) -> None:
        """Let one of a menu's items be chosen, and open it."""
        self.app.push_screen(menu, lambda item: None if item is None else self._by_name.attempt(item.open))

    def open_prompt(self, prefix: str, text: str, typing: Typing) -> None:
        """Let a line be typed, in the place of the keys."""
        self._keys.add_class("typing")
        self.prompt.open(prefix, text, typing._replace(before=self.keeping.typed.lines.get(prefix, ())))

    def on_prompt_closed(self, _: Prompt.Closed) -> None:
        """The keys come back."""
        self._keys.remove_class("typing")
        self.set_focus(None)

    def on_prompt_wrong(self, message: Prompt.Wrong) -> None:
        """A line cannot be understood; it is still being typed."""
        self.say(message.text, "bad")

    def on_prompt_entered(self, message: Prompt.Entered) -> None:
        """A line was typed."""
        self.keeping.remember(message.prefix, message.text)
        self._by_name.attempt(lambda: self.prompt.typing.enter(message.text))

    def on_counted(self, message: Counted) -> None:
        """The rows are counted."""
        self.prompt.tell(f"{message.rows:,} rows", message.text)
