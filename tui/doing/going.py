"""Going: from view to view, into what the cursor is on, and back."""

from __future__ import annotations

from policy.limits import GENERIC
from tui.core.actions import VIEWS, CommandError
from tui.core.facts import short_id
from tui.desk import Desk
from tui.views.pages import JobView
from tui.views.tables import TableView


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
        name = view.cursor_name or ""
        if view.view_name == "jobs":
            self._show_job(name)
        elif view.view_name == "queues":
            self._jobs_of(f'queue:"{name}"')
        elif view.view_name in ("vnodes", "grid"):
            self._jobs_of(f'vnode:"{name}"')
        elif view.view_name == "quotas" and name != GENERIC:
            self._jobs_of(f'user:"{name}"')

    def _jobs_of(self, text: str) -> None:
        self._desk.go("jobs")
        view = self._desk.view
        if isinstance(view, TableView):
            view.filter_by(text)

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
        view = self._desk.views["job"]
        if isinstance(view, JobView):
            view.choose(job_id)
            self._desk.look_up(job_id)
        self._desk.go("job")

    def back(self) -> None:
        """Drop the filter; without one, return to the view before."""
        view = self._desk.view
        if isinstance(view, TableView) and view.filter_text:
            view.filter_by("")
        elif self._desk.stack:
            self._desk.go(self._desk.stack.pop(), remember=False)
