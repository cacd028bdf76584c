"""Navigation: from view to view, into the row under the cursor, and back."""

from __future__ import annotations

from tui.action_registry import RESERVATIONS, views_of
from tui.command_line import CommandError
from tui.pages.job.job_tabs import OUTPUT
from tui.pages.link_target_type import Link
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.find_dialog import FindDialog
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.visited_places import Place
from tui.screen.views.job import JobView
from tui.screen.views.overview import OverviewView
from tui.screen.views.plan import PlanView
from tui.screen.views.reservations import ReservationsView
from tui.state.typed_job_id import AmbiguousJobError, find_job
from tui.tables.filter_line import quoted
from tui.tables.find_anything import JOB, USER, VNODE, Everything, Found

_PAGER = ("env", "LESSSECURE=1", "less", "-L", "+G", "--")
"""A pager that runs no other program: users choose the names and texts of the files."""


class NavigateActions:
    """The actions of the group ``go``."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def view(self, argument: str) -> None:
        """Show a view by name."""
        views = views_of(migrates=self._screen.migration is not None)
        if argument not in views:
            raise CommandError(f"view {argument!r}: there are {', '.join(views)}")
        self._screen.go(argument)

    def next_view(self) -> None:
        """Show the view to the right."""
        self._screen.go(self._beside(1))

    def previous_view(self) -> None:
        """Show the view to the left."""
        self._screen.go(self._beside(-1))

    def _beside(self, steps: int) -> str:
        name = self._screen.view.view_name
        here = self._views.index(name) if name in self._views else 0
        return self._views[(here + steps) % len(self._views)]

    @property
    def _views(self) -> tuple[str, ...]:
        views, cluster = views_of(migrates=self._screen.migration is not None), self._screen.cluster
        has_some = cluster is not None and cluster.server_status.reservations
        return views if has_some else tuple(view for view in views if view != RESERVATIONS)

    def into(self) -> None:
        """Open what is under the cursor: a job, the jobs of a queue, vnode or user, the link of a line."""
        view = self._screen.view
        if isinstance(view, OverviewView) and view.link is not None:
            self._go_to(view.link)
        elif isinstance(view, PlanView):
            if view.job_id:
                self._show_job(view.job_id)
            else:
                view.unfold()
        elif isinstance(view, ReservationsView):
            self._screen.jump("jobs", f"queue:={quoted(view.queue)}")
        elif view.view_name == "jobs":
            self._show_job(view.cursor_name or "")
        elif view.view_name in ("queues", "vnodes", "grid", "quotas"):
            self._screen.act_by_name("to-jobs", "")

    def _go_to(self, link: Link) -> None:
        if link.view == "job":
            self._show_job(link.subject)
        elif link.filter:
            self._screen.jump(link.view, link.filter, link.names if link.kind == "job" else ())
        elif link.subject or link.cursor is not None:
            self._screen.visit(Place(link.view, subject=link.subject, cursor=link.cursor))
        else:
            self._screen.go(link.view)

    def job(self, argument: str) -> None:
        """Show one job by its id, with or without the server's name."""
        if not argument:
            raise CommandError("job: which one? :job ID")
        cluster = self._screen.known_cluster()
        jobs = dict.fromkeys([*cluster.server_status.jobs, *(cluster.finished.jobs if cluster.finished else ())])
        try:
            found = find_job(jobs, argument, cluster.server_name)
        except AmbiguousJobError as error:
            raise CommandError(str(error)) from error
        if found is None:
            raise CommandError(f"job {argument!r} is not on the server (in the jobs view F asks for those that ended)")
        self._show_job(found)

    def output(self) -> None:
        """Show the output of the job under the cursor; of the one whose output is shown, the whole file in a pager."""
        view = self._screen.view
        if view.kind != "job" or view.cursor_name is None:
            raise CommandError("output: works on a job")
        if not isinstance(view, JobView):
            self._show_job(view.cursor_name)
            shown = self._screen.views["job"]
        elif view.tab == OUTPUT:
            if not view.output_path:
                raise CommandError("output: the file is not on this host, or not for this user")
            self._screen.run_outside((*_PAGER, view.output_path))
            return
        else:
            shown = view
        if isinstance(shown, JobView):
            shown.show_tab(OUTPUT)

    def find(self, argument: str = "") -> None:
        """Search jobs, users, vnodes and queues, and go to one of them."""
        dialog = FindDialog(Everything(self._screen.known_cluster()), argument)
        self._screen.app.push_screen(dialog, lambda found: None if found is None else self._go_to_found(found))

    def _go_to_found(self, found: Found) -> None:
        if found.kind == JOB:
            self._show_job(found.name)
        elif found.kind == USER:
            self._screen.jump("jobs", f"user:={quoted(found.name)}")
        else:
            view = "vnodes" if found.kind == VNODE else "queues"
            self._screen.visit(Place(view, cursor=found.name))

    def _show_job(self, job_id: str) -> None:
        self._screen.lookups.job(job_id)
        self._screen.visit(Place("job", subject=job_id))

    def back(self) -> None:
        """Drop a typed filter; without one, return to the previous place."""
        view, here = self._screen.view, self._screen.places.here
        came_with = here.filter if here.jumped else ""
        if isinstance(view, TableView) and view.filter_text not in ("", came_with):
            view.filter_by(came_with)
        else:
            self.earlier()

    def earlier(self) -> None:
        """Return to the previous place."""
        self._step(-1)

    def later(self) -> None:
        """Go forward again to the place that was left by going back."""
        self._step(1)

    def _step(self, steps: int) -> None:
        places = self._screen.places
        left = places.here
        place = places.step(self._screen.view.place, steps)
        if place is None:
            return
        view = self._screen.views[left.view]
        if left.jumped and steps < 0:
            view.resume(Place(left.view, filter=left.before))
        self._screen.show(place)
