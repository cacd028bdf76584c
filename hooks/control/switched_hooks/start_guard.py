"""The hook of starts: off while passes alone start jobs or all queues are in ``observe``, and on again before PBS's
scheduler may start a job that it checks.

PBS needs some milliseconds for each start for which it runs a hook, by a pass or by a scheduler. A pass that starts
jobs alone has just decided what the hook would check, and checks the rest itself; in ``observe`` the hook checks
nothing (docs/hooks.md, "The guard of starts").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from hooks.control.pbs_scheduler.scheduler_switch import Assignment
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.client.requests_within_time_budget import attempt
from hooks.pbs.own_switch_values import START_HOOK
from hooks.pbs.server_status_type_and_attributes import Objects
from hooks.store.event_hook_summary import SUMMARY, Summary
from hooks.store.state_files import State
from hooks.translate.queues import is_execution
from policy.settings.settings_of_server_and_passes import ALWAYS
from policy.settings.site_settings import Settings


def may_go_unguarded(settings: Settings, queues: Objects, assignment: Assignment, summary: Summary) -> bool:
    """Whether the pass may start its jobs without the hook: the only execution queue is driven, no scheduler has a
    cycle or is switched on, and no setting makes the hook change or delay jobs at their start.

    With a second execution queue, which may be a reservation's, a user could exchange two of their jobs between the
    decision and the start (`qorder`): the start would be in the other queue. PBS runs no hook for an exchange.
    """
    driven = assignment.driven
    is_alone = driven == {name for name, texts in queues.items() if is_execution(texts)}
    if settings.server.guard_starts == ALWAYS or len(driven) != 1 or not is_alone:
        return False
    changes_jobs = settings.ranking.lists != "none" or any(summary.queues[queue].save for queue in driven)
    return not (assignment.in_cycle or assignment.on or changes_jobs or settings.stripe.stagger_s)


def switch_guard(connection: Connection, settings: Settings, summary: Summary) -> list[str]:
    """Switch the hook as the summary has it, before the pass starts a job or switches a scheduler on; returns a
    sentence if the server refuses. A driving pass that starts nothing leaves a hook on that could go off."""
    if settings.server.guard_starts == ALWAYS or (summary.unguarded and not summary.starting):
        return []
    wanted = not (summary.unguarded or summary.only_observes)
    error = attempt(partial(connection.switch_hook, START_HOOK, enabled=wanted))
    return [] if error is None else [str(error)]


def end_of_starts(state: State, summary: Summary) -> None:
    """Write to disk that the pass has made its starts: owners may alter the jobs that still wait."""
    if summary.unguarded and summary.starting:
        state.publish(SUMMARY, replace(summary, unguarded=False).to_data(), shared=False, sync=False)


def digests_to_compare(settings: Settings, summary: Summary) -> Mapping[str, str]:
    """What each start was decided on, where the pass itself compares it with the job just before: wherever passes
    switch the hook, also while it is on, since the server may have refused to switch it."""
    return {} if settings.server.guard_starts == ALWAYS else summary.planned
