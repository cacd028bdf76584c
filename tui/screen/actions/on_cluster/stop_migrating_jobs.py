"""Stops migrating jobs: those named on the line, else the marked rows of the migration view, else the cursor's row."""

from __future__ import annotations

import os
import pwd

from tui.action_registry import MIGRATION
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.command_line import CommandError
from tui.operations.by_target.migrating_job_stop_ops import BRING_BACK, DISCARD, RESULTS, stop_jobs
from tui.operations.operation_type_and_preview import Operation
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.operation_dialog import Question, open_dialog
from tui.state.cluster_view import ClusterView

_OPTION = "--discard"


class MigrationActions:
    """The actions on migrating jobs."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def mgstop(self, argument: str) -> None:
        """Ask what becomes of the results, then stop the jobs."""
        words = argument.split()
        gids = tuple(word for word in words if word != _OPTION)
        if not gids:
            gids = self._screen.view.chosen if self._screen.view.view_name == MIGRATION else ()
        if not gids:
            raise CommandError("mgstop: which job? :mgstop [--discard] ID..., or on a row of the migration view")

        def make(cluster: ClusterView, _: Commands, text: str) -> Operation:
            migration = self._screen.migration
            if migration is None:
                raise ChangeError("mgstop: this site has no other clusters")
            return stop_jobs(cluster, migration, gids, text, _own_name())

        head = f"stop {gids[0]}, wherever it is"
        if len(gids) > 1:
            head = f"stop {len(gids):,} migrating jobs, wherever they are"
        given = DISCARD if _OPTION in words else BRING_BACK
        question = Question(head, make, "|".join(RESULTS), RESULTS, given, "their results")
        open_dialog(self._screen.app, question, self._screen.runner)


def _own_name() -> str:
    """The user as whom mgstop runs."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""
