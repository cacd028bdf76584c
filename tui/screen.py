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

from policy.limits import GENERIC
from tui.changes import Changes
from tui.core.actions import (
    ACTIONS,
    BY_NAME,
    FASTEST,
    SLOWEST,
    SPEEDS,
    VIEWS,
    Action,
    CommandError,
    Situation,
    complete,
    parse_command,
)
from tui.core.audit import Actor, AuditLog
from tui.core.facts import short_id
from tui.core.filters import FilterError
from tui.core.history import IdleHistory
from tui.core.lines import safe
from tui.core.poller import News, Polled, Poller, PollFailed
from tui.core.quota_change import QuotaError, check_entity
from tui.core.source import SimulatedSource, Source
from tui.core.status_line import Header, header_line
from tui.core.unlock import Unlock
from tui.core.world import World
from tui.dialogs.help import HelpScreen
from tui.dialogs.quota import QuotaDialog
from tui.news import Foreseen, FromPoller, Made
from tui.views.base import MOVES, Shown, View
from tui.views.jobs import JobsView
from tui.views.pages import JobView, OverviewView, PlanView
from tui.views.queues import QueuesView
from tui.views.quotas import QuotasView
from tui.views.tables import TableView
from tui.views.vnodes import OccupancyView, VnodesView
from tui.widgets.lines import LineView, Paper
from tui.widgets.prompt import Prompt

_HINTS = "? help  / filter  : go  tab next view"
_THEMES = ("dark", "light")


class MainScreen(Screen[None], inherit_bindings=False):
    """The console on one source. ``clock`` is the wall clock, ``elapsed`` a monotonic one."""

    DEFAULT_CSS = """
    MainScreen > .line { height: 1; }
    MainScreen > ContentSwitcher { height: 1fr; }
    MainScreen > .keys.typing { display: none; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(action.keys), f"do('{action.name}')", action.help, show=False)
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
        ascii_only: bool,
        simulation: SimulatedSource | None,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._source, self._simulation, self._ascii = source, simulation, ascii_only
        self._clock, self._elapsed = clock, elapsed
        self.poller = Poller(source, self._tell, interval_s, elapsed)
        self.changes = Changes(self, source, AuditLog(audit_path, actor, source.name), self._is_unlocked)
        self.world: World | None = None
        self._history = IdleHistory()
        self._seen_s = elapsed()
        self._away = ""
        self._unlock = Unlock()
        self._sorting = False
        self._stack: list[str] = []
        self._views: dict[str, View] = {
            view.view_name: view
            for view in (
                OverviewView(),
                QueuesView(),
                VnodesView(),
                OccupancyView(),
                JobsView(),
                QuotasView(),
                PlanView(),
                JobView(),
            )
        }
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
            yield from self._views.values()
        yield self._message
        yield self._keys
        yield self.prompt

    def on_mount(self) -> None:
        """Start polling, and the clock in the header."""
        for lines in self.query(LineView):
            lines.ascii_only = self._ascii
            lines.can_focus = False
        for view in self._views.values():
            view.can_focus = False
        self._keys.show([((f" {_HINTS}", "dim"),)])
        self._say(f"asking {self._source.name or 'the server'}")
        self._tick()
        self.set_interval(1.0, self._tick)
        self.poller.start()

    def on_unmount(self) -> None:
        """Stop polling."""
        self.poller.stop()

    # What threads tell.

    def _tell(self, news: News) -> None:
        """Called from the poller's thread."""
        self.post_message(FromPoller(news))

    def on_from_poller(self, message: FromPoller) -> None:
        """A picture, or why there is none."""
        news = message.news
        if isinstance(news, PollFailed):
            self._away = news.text
            self._say(f"{news.text}; trying again in {news.again_s:.0f} s", "bad")
            self._view.set_class(self.world is not None, "stale")
        elif isinstance(news, Polled):
            if self._away or self.world is None:
                self._say("" if self.world is None else "the server answers again", "good")
            self._away = ""
            self._seen_s = self._elapsed()
            self.world = news.world
            vnodes = news.world.tally.vnodes
            self._history = self._history.sampled(news.world.now_s, vnodes.total - vnodes.used, vnodes.total)
            self._show()
        self._tick()

    def on_foreseen(self, message: Foreseen) -> None:
        """A preview is ready."""
        dialog = self.app.screen
        if isinstance(dialog, QuotaDialog):
            dialog.show_effects(message.change, message.lines)

    def on_made(self, message: Made) -> None:
        """A change was made, or not."""
        self.changes.made(message)
        undo = " · z undoes it" if message.outcome.ok and not message.undone else ""
        self._say(message.outcome.text + undo, "good" if message.outcome.ok else "bad")
        self.poller.ask()

    # What is on the screen.

    @property
    def _view(self) -> View:
        current = self.query_one(ContentSwitcher).current or "view-overview"
        return self._views[current.removeprefix("view-")]

    @property
    def view_name(self) -> str:
        """The view that is shown."""
        return self._view.view_name

    def _show(self) -> None:
        view = self._view
        view.set_class(bool(self._away) and self.world is not None, "stale")
        if self.world is None:
            return
        try:
            view.show(Shown(self.world, self._history))
        except FilterError as error:
            self._say(str(error), "bad")

    def _go(self, name: str, *, remember: bool = True) -> None:
        if remember and name != self.view_name:
            self._stack.append(self.view_name)
        self._stop_sorting()
        self.query_one(ContentSwitcher).current = f"view-{name}"
        self._show()
        self.call_after_refresh(self._show)

    def _say(self, text: str, role: str = "") -> None:
        self._message.show([((f" {safe(text)}", role),)])

    def _tick(self) -> None:
        simulation = ""
        if self._simulation is not None:
            simulation = "paused" if self._simulation.paused else f"×{self._simulation.speed:,}"
        now_s = self.world.now_s if self.world is not None and self._simulation is not None else self._clock()
        header = Header(
            self.world.server_name or self._source.name if self.world else self._source.name,
            self.world,
            self._unlock.remaining_s(self._elapsed()),
            self._elapsed() - self._seen_s,
            now_s,
            self._away,
            simulation,
        )
        self._header.show([header_line(header, self.size.width)])

    def on_resize(self) -> None:
        """The header is made for a width."""
        self._tick()

    # What is done.

    def on_key(self, event: Key) -> None:
        """After ``s`` the next key chooses the column."""
        if not self._sorting or self.prompt.is_open:
            return
        event.stop()
        event.prevent_default()
        view = self._view
        self._stop_sorting()
        if isinstance(view, TableView) and event.character and event.character.isdigit():
            column = view.table.column_numbered(int(event.character))
            if column:
                view.sort_by(column)
                return
        self._say("not sorted")

    def action_do(self, name: str, argument: str = "") -> None:
        """Do an action by name, or say why it is not available."""
        action = BY_NAME[name]
        why_not = action.unavailable(self._situation())
        if why_not:
            self._say(f"{action.name}: {why_not}", "warn")
            return
        try:
            self._do(action, argument)
        except (CommandError, FilterError, QuotaError, ValueError) as error:
            self._say(str(error), "bad")

    def _situation(self) -> Situation:
        return Situation(
            self.view_name,
            self._is_unlocked(),
            self._simulation is not None,
            self.world is not None,
            self._view.cursor_name is not None,
            self.changes.last is not None,
        )

    def _is_unlocked(self) -> bool:
        return self._unlock.is_open(self._elapsed())

    def _do(self, action: Action, argument: str) -> None:
        name = action.name
        if name in MOVES:
            self._view.move(name)
        elif name.startswith("view-"):
            self._go(name.removeprefix("view-"))
        else:
            method = getattr(self, f"_do_{name.replace('-', '_')}")
            method(argument) if action.argument else method()

    def _do_view(self, argument: str) -> None:
        if argument not in VIEWS:
            raise CommandError(f"view {argument!r}: there are {', '.join(VIEWS)}")
        self._go(argument)

    def _do_next_view(self) -> None:
        self._go(self._beside(1))

    def _do_previous_view(self) -> None:
        self._go(self._beside(-1))

    def _beside(self, steps: int) -> str:
        here = VIEWS.index(self.view_name) if self.view_name in VIEWS else 0
        return VIEWS[(here + steps) % len(VIEWS)]

    def _do_into(self) -> None:
        name = self._view.cursor_name or ""
        view = self.view_name
        if view == "jobs":
            self._show_job(name)
        elif view == "queues":
            self._jobs_of(f'queue:"{name}"')
        elif view in ("vnodes", "grid"):
            self._jobs_of(f'vnode:"{name}"')
        elif view == "quotas" and name != GENERIC:
            self._jobs_of(f'user:"{name}"')

    def _jobs_of(self, text: str) -> None:
        self._go("jobs")
        self._filter(text)

    def _do_job(self, argument: str) -> None:
        world = self.world
        if world is None or not argument:
            raise CommandError("job: which one? :job ID")
        found = [job_id for job_id in world.picture.jobs if argument in (job_id, short_id(job_id))]
        if not found:
            raise CommandError(f"job {argument!r} is not on the server")
        self._show_job(found[0])

    def _show_job(self, job_id: str) -> None:
        view = self._views["job"]
        if isinstance(view, JobView):
            view.choose(job_id)
        self._go("job")

    def _do_back(self) -> None:
        view = self._view
        if isinstance(view, TableView) and view.filter_text:
            view.filter_by("")
        elif self._stack:
            self._go(self._stack.pop(), remember=False)

    def _do_filter(self, argument: str = "") -> None:
        view = self._view
        if not isinstance(view, TableView):
            raise CommandError("filter: works in queues, vnodes, jobs and quotas")
        if argument:
            self._filter(argument)
        else:
            self._open_prompt("/", view.filter_text, self._complete_filter)

    def _filter(self, text: str) -> None:
        view = self._view
        if isinstance(view, TableView):
            view.filter_by(text)

    def _complete_filter(self, text: str) -> list[str]:
        head, blank, last = text.rpartition(" ")
        negation = "!" if last.startswith("!") else ""
        words = self._view.words.get("field", [])
        return [f"{head}{blank}{negation}{word}" for word in words if word.startswith(last[len(negation) :])]

    def _do_sort(self, argument: str = "") -> None:
        view = self._view
        if not isinstance(view, TableView):
            return
        if argument:
            view.sort_by(argument)
            return
        self._sorting = True
        view.table.number_columns(True)
        self._say("sort by which column? its number, or any other key to leave")

    def _stop_sorting(self) -> None:
        view = self._view
        if self._sorting and isinstance(view, TableView):
            view.table.number_columns(False)
            self._say("")
        self._sorting = False

    def _do_mark(self) -> None:
        view = self._view
        if isinstance(view, TableView):
            view.table.toggle_mark()
            view.retitle()

    def _do_copy(self) -> None:
        view = self._view
        marked = [str(key) for key in view.table.marked] if isinstance(view, TableView) else []
        names = " ".join(safe(name) for name in sorted(marked) or [view.cursor_name or ""])
        self.app.copy_to_clipboard(names)
        self._say(f"copied {names}")

    def _do_unlock(self) -> None:
        if self._is_unlocked():
            self._unlock = self._unlock.closed()
            self._say("read-only again")
        else:
            self._unlock = self._unlock.opened(self._elapsed())
            self._say(f"unlocked for five minutes: changes now reach {self._source.name}", "warn")
        self._tick()

    def _do_edit(self) -> None:
        view = self._view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            self.changes.open_dialog(self._known_world, view.queue, view.table.cursor, "", ascii_only=self._ascii)

    def _do_quota(self, argument: str) -> None:
        words = argument.split()
        if len(words) not in (2, 3):
            raise CommandError("quota: QUEUE USER CORES, for example :quota workq carol 1024")
        kind, colon, name = words[1].partition(":")
        entity = check_entity(kind, name) if colon and kind in ("u", "g", "p", "o") else check_entity("u", words[1])
        given = words[2] if len(words) > 2 else ""
        self.changes.open_dialog(self._known_world, words[0], entity, given, ascii_only=self._ascii)

    def _known_world(self) -> World:
        if self.world is None:
            raise QuotaError("no answer from the server yet")
        return self.world

    def _do_undo(self) -> None:
        self.changes.undo()

    def _do_pause(self) -> None:
        if self._simulation is not None:
            if self._simulation.paused:
                self._simulation.resume()
            else:
                self._simulation.pause()
            self._say(
                "the simulated cluster stands still" if self._simulation.paused else "the simulated cluster goes on"
            )
            self.poller.ask()
            self._tick()

    def _do_step(self) -> None:
        if self._simulation is not None:
            self._simulation.step()
            self._say("one pass further")
            self.poller.ask()
            self._tick()

    def _do_faster(self) -> None:
        self._set_speed(next((speed for speed in SPEEDS if speed > self._speed), FASTEST))

    def _do_slower(self) -> None:
        self._set_speed(next((speed for speed in reversed(SPEEDS) if speed < self._speed), SLOWEST))

    @property
    def _speed(self) -> int:
        return self._simulation.speed if self._simulation is not None else SLOWEST

    def _do_speed(self, argument: str) -> None:
        if not (argument.isascii() and argument.isdigit()) or not SLOWEST <= int(argument) <= FASTEST:
            raise CommandError(f"speed {argument!r}: allowed is a whole number from {SLOWEST} to {FASTEST:,}")
        self._set_speed(int(argument))

    def _set_speed(self, speed: int) -> None:
        if self._simulation is not None:
            self._simulation.set_speed(speed)
            self._say(f"speed ×{speed:,}: {speed:,} simulated seconds each second")
            self._tick()

    def _do_refresh(self) -> None:
        self._say("asking again")
        self.poller.ask()

    def _do_theme(self, argument: str) -> None:
        if argument not in _THEMES:
            raise CommandError(f"theme {argument!r}: there are {', '.join(_THEMES)}")
        self.app.theme = f"pbsteer-{argument}"

    def _do_command(self) -> None:
        self._open_prompt(":", "", self._complete_command)

    def _complete_command(self, text: str) -> list[str]:
        world = self.world
        words: dict[str, list[str]] = {
            "view": list(VIEWS),
            "theme": list(_THEMES),
            "speed": [str(speed) for speed in SPEEDS],
            "queue": list(world.picture.queues) if world else [],
            "user": sorted({user for _, user in world.tally.users}) if world else [],
            **self._view.words,
        }
        if world is not None and text.startswith("job "):
            words["job"] = [short_id(job_id) for job_id in world.job_ids]
        return complete(text, words)

    def _open_prompt(self, prefix: str, text: str, completion: Callable[[str], list[str]]) -> None:
        self._keys.add_class("typing")
        self.prompt.open(prefix, text, completion)

    def on_prompt_closed(self, _: Prompt.Closed) -> None:
        """The keys come back."""
        self._keys.remove_class("typing")
        self.set_focus(None)

    def on_prompt_entered(self, message: Prompt.Entered) -> None:
        """A command or a filter was typed."""
        try:
            if message.prefix == "/":
                self._filter(message.text)
            elif message.text:
                command = parse_command(message.text)
                self.action_do(command.action.name, command.argument)
        except (CommandError, FilterError) as error:
            self._say(str(error), "bad")

    def _do_help(self) -> None:
        self.app.push_screen(HelpScreen(simulated=self._simulation is not None, ascii_only=self._ascii))

    def _do_quit(self) -> None:
        self.app.exit()
