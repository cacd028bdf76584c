"""Actions that show more or less of a view: an array's subjobs, ended jobs, vnodes ranked by a mode."""

from __future__ import annotations

from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob
from tui.command_line import CommandError
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.views.jobs import JobsView
from tui.screen.views.plan import PlanView
from tui.screen.views.quotas import QuotasView
from tui.screen.views.vnode_table_and_occupancy_grid import OccupancyView
from tui.state.ended_jobs import WINDOW_S
from tui.tables.vnode_grid.grid_colours import COLOURS
from tui.tables.vnode_grid.vnode_ranks import MODES


class InspectActions:
    """Actions of the group ``find`` that show more or less in a view."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def unfold(self) -> None:
        """Show the running subjobs of the array under the cursor, the jobs of a part of the plan, or the quotas of
        those without jobs; or hide them."""
        view, name = self._screen.view, self._screen.view.cursor_name or ""
        if isinstance(view, QuotasView):
            self._screen.say(view.unfold())
        elif isinstance(view, PlanView):
            view.unfold()
        if not isinstance(view, JobsView):
            return
        if not (is_array(name) or is_subjob(name)):
            raise CommandError(f"{name} is no array")
        count = view.unfold(name)
        if not count:
            self._screen.say("none of its subjobs runs")

    def finished(self) -> None:
        """Include the jobs that ended lately, or stop including them."""
        history = self._screen.poller.history
        history.wanted = not history.wanted
        hours = f"{WINDOW_S / 3600:.0f}"
        self._screen.say(
            f"asking for the jobs that ended in the last {hours} h" if history.wanted else "without ended jobs"
        )
        self._screen.poller.ask()

    def colour(self, argument: str = "") -> None:
        """Colour the grid by what is named, or by the next."""
        view = self._screen.view
        if not isinstance(view, OccupancyView):
            return
        if argument and argument not in COLOURS:
            raise CommandError(f"colour {argument!r}: there are {', '.join(COLOURS)}")
        view.colour_by(argument or COLOURS[(COLOURS.index(view.colour) + 1) % len(COLOURS)])

    def who(self) -> None:
        """Colour the grid by user, or again by how full each vnode is."""
        view = self._screen.view
        if isinstance(view, OccupancyView):
            self.colour("fill" if view.colour == "user" else "user")

    def rank(self, argument: str = "") -> None:
        """Rank the vnodes of the grid by the named mode, or by the next mode."""
        view = self._screen.view
        if not isinstance(view, OccupancyView):
            return
        if argument and argument not in MODES:
            raise CommandError(f"rank {argument!r}: there are {', '.join(MODES)}")
        view.rank_by(argument or MODES[(MODES.index(view.mode) + 1) % len(MODES)])
        self._screen.say("vnodes are not ranked" if view.mode == MODES[0] else f"vnodes ranked by {view.mode}")
