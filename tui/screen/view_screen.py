"""The part of the console's screen that shows the cluster: header, tabs, one view at a time, and the line for keys and
messages.

It goes from place to place and draws what the last poll has brought; it reads no key and runs no action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from tui.action_registry import MIGRATION, RESERVATIONS, key_of_view, views_of
from tui.backends.interface.backend_protocol import Backend, SteeredBackend
from tui.config.production_servers_and_server_list import Site
from tui.operations.confirmation.read_only_until_unlocked import Unlock
from tui.pages.header_line import Header, header_line, speed_in_words
from tui.pages.tab_strip import Tab, counts_of_views
from tui.screen.dialogs.lines_below_header import LEAST_LINES
from tui.screen.views.all_views import make_views
from tui.screen.views.bases.base_view import View
from tui.screen.views.bases.visited_places import Place, Places
from tui.screen.views.jobs import JobsView
from tui.screen.widgets.base_line_view import Paper
from tui.screen.widgets.clickable_tabs import Tabs
from tui.screen.widgets.footer import Footer, ShownMessage
from tui.screen.widgets.prompt import Prompt
from tui.screen.workers.last_polled_data_and_age import LastPolled
from tui.state.cluster_view import ClusterView
from tui.tables.filter_line import FilterError
from tui.text.screen_line import safe

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration


class ViewScreen(Screen[None], inherit_bindings=False):
    """Shows the polled data of one backend. ``clock`` is the wall clock, ``elapsed`` a monotonic clock, both in
    seconds; the header marks the servers that ``site`` lists as production servers."""

    DEFAULT_CSS = """
    ViewScreen { layers: default above; }
    ViewScreen > .line { height: 1; }
    ViewScreen > ContentSwitcher { height: 1fr; }
    ViewScreen.short > .tabs { display: none; }
    ViewScreen > .keys.typing { display: none; }
    ViewScreen > .keys.typing.message { display: block; }
    """

    def __init__(
        self,
        backend: Backend,
        simulation: SteeredBackend | None,
        *,
        site: Site,
        clock: Callable[[], float],
        elapsed: Callable[[], float],
    ) -> None:
        super().__init__()
        self.backend, self.simulation = backend, simulation
        self._site, self._clock, self._elapsed = site, clock, elapsed
        self._seen = LastPolled(elapsed)
        self._unlock = Unlock()
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
        self._update_tabs_and_keys()
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

    def jump(self, name: str, text: str, jobs: Iterable[str] = ()) -> None:
        """Go to a view with a filter that comes from another view; the arrays of which ``jobs`` has subjobs unfold."""
        view = self.views[name]
        if isinstance(view, JobsView):
            view.unfold_arrays_of(jobs)
        self.visit(Place(name, filter=text, jumped=True, before=self.views[name].place.filter))

    def show(self, place: Place) -> None:
        """Show a place without adding it to the places visited."""
        self.query_one(ContentSwitcher).current = f"view-{place.view}"
        self.view.resume(place)
        self._show()
        self.call_after_refresh(self._show)

    def say(self, text: str, role: str = "") -> None:
        """Show a sentence in place of the keys, until the next action or for some seconds."""
        now_s = self.cluster.now_s if self.cluster is not None and self.simulation is not None else self._clock()
        self.footer.say(ShownMessage(now_s, text, role), self._elapsed())
        self.footer.set_class(self.footer.has_message, "message")

    def _update_tabs_and_keys(self) -> None:
        """Update the tabs, and name what the screen waits for in place of the keys."""
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

    def tick(self) -> None:
        """Update the header, and take a message away whose time is over."""
        if self.footer.age(self._elapsed()):
            self.footer.remove_class("message")
        simulation = ""
        if self.simulation is not None:
            simulation = "paused" if self.simulation.paused else speed_in_words(self.simulation)
        now_s = self.cluster.now_s if self.cluster is not None and self.simulation is not None else self._clock()
        server = (self.cluster.server_name if self.cluster is not None else "") or self.backend.name
        header = Header(
            server,
            self.cluster,
            self._unlock.remaining_s(self._elapsed()),
            self._seen.age_s,
            now_s,
            self._seen.away,
            simulation,
            production=self._site.is_production(server),
            system=self.backend.system,
        )
        self._header.show([header_line(header, self.size.width)])

    def on_resize(self) -> None:
        """The header, the tabs and the keys depend on the width."""
        self.set_class(self.size.height < LEAST_LINES, "short")
        self.tick()
        self._update_tabs_and_keys()
