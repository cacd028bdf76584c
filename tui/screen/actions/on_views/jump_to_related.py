"""Jumps from the marked rows, or the row under the cursor, to their jobs, vnodes or quotas."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob, parent_of
from policy.model.limit_attributes import GENERIC
from policy.model.pbs_units import show_job
from tui.command_line import CommandError
from tui.model.typed_attributes import user_of
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.views.bases.visited_places import Place
from tui.screen.views.quotas import QuotasView
from tui.tables.columns_by_view.vnode_columns import ids_on
from tui.tables.filter_line import quoted

_MOST = 100
"""Most names in one jump: the filter made of them has to stay readable."""
_FIELDS = {"u": "user", "g": "group", "p": "project"}


class JumpActions:
    """The actions of the group ``go`` that jump to related objects."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def to_jobs(self) -> None:
        """Jump to the jobs of a queue, a vnode or a user; from a job, to those of its user."""
        view, chosen = self._screen.view, self._screen.view.chosen
        if isinstance(view, QuotasView):
            self._screen.jump("jobs", self._of_entity(view))
        elif view.kind == "job":
            self._screen.jump("jobs", _one_of("user", self._users(chosen)))
        elif view.kind == "vnode" and chosen:
            there = chain.from_iterable(ids_on(self._screen.known_cluster(), name) for name in chosen)
            self._screen.jump("jobs", _one_of("vnode", chosen), there)
        elif view.kind == "queue" and chosen:
            self._screen.jump("jobs", _one_of("queue", chosen))
        else:
            raise CommandError("to-jobs: works on a job, a vnode, a queue or a quota")

    def to_vnodes(self) -> None:
        """Jump to the vnodes that a job, a user's jobs or a queue's jobs run on."""
        view, chosen = self._screen.view, self._screen.view.chosen
        if isinstance(view, QuotasView):
            self._screen.jump("vnodes", self._of_entity(view))
        elif view.kind == "job" and chosen:
            jobs = self._screen.known_cluster()
            if not any((jobs.job(job_id) or {}).get("exec_vnode") or is_array(job_id) for job_id in chosen):
                raise CommandError("to-vnodes: none of these jobs runs, so they have no vnodes")
            self._screen.jump("vnodes", _one_of("job", map(show_job, chosen)))
        elif view.kind == "queue" and chosen:
            self._screen.jump("vnodes", _one_of("queue", chosen))
        else:
            raise CommandError("to-vnodes: works on a job, a queue or a quota")

    def to_quotas(self) -> None:
        """Jump to the quotas of a queue; from a job, to those of its queue, with the cursor on its user."""
        view, chosen = self._screen.view, self._screen.view.chosen
        if view.kind == "queue" and chosen:
            self._screen.visit(Place("quotas", subject=chosen[0]))
        elif view.kind == "job" and chosen:
            job = self._screen.known_cluster().job(chosen[0]) or {}
            self._screen.visit(Place("quotas", subject=job.get("queue", ""), cursor=("u", user_of(job))))
        else:
            raise CommandError("to-quotas: works on a job or a queue")

    def _of_entity(self, view: QuotasView) -> str:
        cursor = view.table.cursor
        if cursor is None or cursor[1] == GENERIC or cursor[0] not in _FIELDS:
            raise CommandError("this row stands for all others: choose a user, a group or a project")
        return _one_of(_FIELDS[cursor[0]], (cursor[1],))

    def _users(self, jobs: Iterable[str]) -> list[str]:
        cluster = self._screen.known_cluster()
        named = (parent_of(job_id) if is_subjob(job_id) and cluster.job(job_id) is None else job_id for job_id in jobs)
        return list(dict.fromkeys(user_of(cluster.job(job_id) or {}) for job_id in named))


def _one_of(field: str, names: Iterable[str]) -> str:
    """A filter that matches exactly these names. Raises :class:`CommandError` for more than ``_MOST``."""
    wanted = list(dict.fromkeys(names))
    if len(wanted) > _MOST:
        raise CommandError(f"{len(wanted):,} {field}s are too many for one jump, which takes {_MOST} at most")
    return f"{field}:=" + "|".join(map(quoted, wanted))
