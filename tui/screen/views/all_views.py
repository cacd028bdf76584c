"""All views, each made once for a screen."""

from __future__ import annotations

from collections.abc import Mapping

from tui.screen.views.audit import AuditView
from tui.screen.views.bases.base_view import View
from tui.screen.views.job import JobView
from tui.screen.views.jobs import JobsView
from tui.screen.views.overview import OverviewView
from tui.screen.views.plan import PlanView
from tui.screen.views.queues import QueuesView
from tui.screen.views.quotas import QuotasView
from tui.screen.views.reservations import ReservationsView
from tui.screen.views.vnode_table_and_occupancy_grid import OccupancyView, VnodesView

_KINDS: tuple[type[View], ...] = (
    OverviewView,
    QueuesView,
    VnodesView,
    OccupancyView,
    JobsView,
    QuotasView,
    PlanView,
    AuditView,
    ReservationsView,
    JobView,
)


def make_views() -> Mapping[str, View]:
    """New views by their names."""
    views = [kind() for kind in _KINDS]
    return {view.view_name: view for view in views}
