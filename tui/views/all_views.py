"""The views that there are, each made once for a screen."""

from __future__ import annotations

from collections.abc import Mapping

from tui.views.audit import AuditView
from tui.views.base import View
from tui.views.jobs import JobsView
from tui.views.pages import JobView, OverviewView, PlanView
from tui.views.queues import QueuesView
from tui.views.quotas import QuotasView
from tui.views.vnodes import OccupancyView, VnodesView

_KINDS: tuple[type[View], ...] = (
    OverviewView,
    QueuesView,
    VnodesView,
    OccupancyView,
    JobsView,
    QuotasView,
    PlanView,
    AuditView,
    JobView,
)


def make_views() -> Mapping[str, View]:
    """New views by their names."""
    views = [kind() for kind in _KINDS]
    return {view.view_name: view for view in views}
