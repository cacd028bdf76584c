"""Looking closer: an array's subjobs, jobs that have ended, vnodes ranked by a mode."""

from __future__ import annotations

from tui.actions import CommandError
from tui.model.typed_attributes import is_array, is_subjob
from tui.screen.actions.screen_api import Desk
from tui.screen.views.jobs import JobsView
from tui.screen.views.vnodes import OccupancyView
from tui.state.ended_jobs import WINDOW_S
from tui.tables.vnode_ranks import MODES


class Looking:
    """Actions of the group ``find`` that show more or less of what a view has."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def unfold(self) -> None:
        """Show the running subjobs of the array under the cursor, or hide them."""
        view, name = self._desk.view, self._desk.view.cursor_name or ""
        if not isinstance(view, JobsView):
            return
        if not (is_array(name) or is_subjob(name)):
            raise CommandError(f"{name} is no array")
        count = view.unfold(name)
        if not count:
            self._desk.say("none of its subjobs runs")

    def finished(self) -> None:
        """Ask for the jobs that ended lately as well, or no longer."""
        history = self._desk.poller.history
        history.wanted = not history.wanted
        hours = f"{WINDOW_S / 3600:.0f}"
        self._desk.say(
            f"asking for the jobs that ended in the last {hours} h" if history.wanted else "without ended jobs"
        )
        self._desk.poller.ask()

    def who(self) -> None:
        """Show in the grid who has most of each vnode, or again how full it is."""
        view = self._desk.view
        if isinstance(view, OccupancyView):
            by_user = view.turn_users()
            self._desk.say("letters are users, + the others" if by_user else "heights are cores in use")

    def rank(self, argument: str = "") -> None:
        """Rank the vnodes of the grid by the mode named, or by the next one."""
        view = self._desk.view
        if not isinstance(view, OccupancyView):
            return
        if argument and argument not in MODES:
            raise CommandError(f"rank {argument!r}: there are {', '.join(MODES)}")
        view.rank_by(argument or MODES[(MODES.index(view.mode) + 1) % len(MODES)])
        self._desk.say("vnodes are not ranked" if view.mode == MODES[0] else f"vnodes ranked by {view.mode}")
