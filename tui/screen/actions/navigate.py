"""Going: from view to view, into what the cursor is on, and back."""

from __future__ import annotations

from tui.actions import VIEWS, CommandError
from tui.model.typed_attributes import short_id
from tui.screen.actions.screen_api import Desk
from tui.screen.views.navigation import Place
from tui.screen.views.tables import TableView


class Going:
    """The actions of the group ``go``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def view(self, argument: str) -> None:
        """Show a view by name."""
        if argument not in VIEWS:
            raise CommandError(f"view {argument!r}: there are {', '.join(VIEWS)}")
        self._desk.go(argument)

    def next_view(self) -> None:
        """The view to the right."""
        self._desk.go(self._beside(1))

    def previous_view(self) -> None:
        """The view to the left."""
        self._desk.go(self._beside(-1))

    def _beside(self, steps: int) -> str:
        name = self._desk.view.view_name
        here = VIEWS.index(name) if name in VIEWS else 0
        return VIEWS[(here + steps) % len(VIEWS)]

    def into(self) -> None:
        """Into what the cursor is on: a queue's, vnode's or user's jobs; one job."""
        view = self._desk.view
        if view.view_name == "jobs":
            self._show_job(view.cursor_name or "")
        elif view.view_name in ("queues", "vnodes", "grid", "quotas"):
            self._desk.act_by_name("to-jobs", "")

    def job(self, argument: str) -> None:
        """Show one job by its id, with or without the server's name."""
        if not argument:
            raise CommandError("job: which one? :job ID")
        world = self._desk.known_world()
        jobs = [*world.picture.jobs, *(world.finished.jobs if world.finished else ())]
        found = [job_id for job_id in jobs if argument in (job_id, short_id(job_id))]
        if not found:
            raise CommandError(f"job {argument!r} is not on the server (in the jobs view F asks for those that ended)")
        self._show_job(found[0])

    def _show_job(self, job_id: str) -> None:
        self._desk.lookups.job(job_id)
        self._desk.visit(Place("job", subject=job_id))

    def back(self) -> None:
        """Drop what was typed as a filter; without that, return to where one was."""
        view, here = self._desk.view, self._desk.places.here
        came_with = here.filter if here.jumped else ""
        if isinstance(view, TableView) and view.filter_text not in ("", came_with):
            view.filter_by(came_with)
        else:
            self.earlier()

    def earlier(self) -> None:
        """Return to where one was."""
        self._step(-1)

    def later(self) -> None:
        """Go forth again."""
        self._step(1)

    def _step(self, steps: int) -> None:
        places = self._desk.places
        left = places.here
        place = places.step(self._desk.view.place, steps)
        if place is None:
            return
        view = self._desk.views[left.view]
        if left.jumped and steps < 0:
            view.resume(Place(left.view, filter=left.before))
        self._desk.show(place)
