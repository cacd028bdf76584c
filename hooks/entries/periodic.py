"""The pass, in five functions: read the server, decide, commit to disk, act as the modes allow, record the pass.

It runs in a process of its own that ends with the pass, so all state is on disk. What must not be lost is committed
before the first request: the next pass knows everything that a killed one may have done.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable

from hooks.act.apply_plan import Outcome, Permissions, apply_plan
from hooks.act.job_priorities_for_pbs_sched import find_advice, give_advice
from hooks.act.soft_walltime_stripe_for_waiting_jobs import find_resource_changes, write_resource_changes
from hooks.audit.audit_from_server_log import copy_server_changes
from hooks.checkpoint.victims.victims_not_requeued import (
    NOT_REQUEUED,
    describe_not_requeued,
    find_counting,
    read_not_requeued,
    without_as_victims,
    without_their_earmarks,
)
from hooks.control.circuit_breaker import CircuitBreaker
from hooks.control.cores_of_gone_jobs import name_cores_of_gone_jobs
from hooks.control.decision_time_limit import (
    ClockDeadline,
    describe_left_out,
    describe_unstarted,
    time_to_act_s,
    time_to_decide_s,
)
from hooks.control.early_pass import EarlyPass, EarlyPasses, PassResult, find_next_s
from hooks.control.jobs_held_after_failed_starts import name_jobs_held_after_failed_starts
from hooks.control.pass_guard import PassOutcome, guard_pass
from hooks.control.pbs_scheduler.drive_mode_obstacles import find_obstacles
from hooks.control.pbs_scheduler.fair_share_charges import charge_usage, record_from_data, record_to_data, write_usage
from hooks.control.pbs_scheduler.qsub_priority_orders_all_users import find_queues_ordered_by_users
from hooks.control.pbs_scheduler.scheduler_sorts_by_priority import find_unsorted
from hooks.control.pbs_scheduler.scheduler_switch import Switched, assign_schedulers, switch, trigger_cycle
from hooks.control.pbs_scheduler.vnode_order_of_pbs_sched import find_vnode_orders_not_followed
from hooks.control.server_wait_not_counted_as_failure import TimedServerCalls
from hooks.control.starts_refused import STARTS_REFUSED, keep_waiting, read_refused_starts
from hooks.control.switched_hooks.end_hook_switch import EndHookOnHosts, switch_end_hook
from hooks.control.switched_hooks.start_guard import digests_to_compare, end_of_starts, may_go_unguarded, switch_guard
from hooks.forecast.forecast_due import is_forecast_due
from hooks.pbs.client.pbs_ifl_client import Connection, is_real_server
from hooks.pbs.client.requests_within_time_budget import Budget, Requests
from hooks.pbs.files_and_output.dynamic_server_resources import find_asked_for
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_files
from hooks.pbs.job_attributes.job_ids_and_states import is_array
from hooks.pbs.pause_in_server_attributes import name_pause
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.quota_plan_files import PlanFiles, read_plan_files
from hooks.quota_plan.set_due_planned_quotas_on_server import (
    QuotaOutcome,
    commit_quota_work,
    find_quota_work,
    publish_quota_plan,
    set_limits,
)
from hooks.record.add_pass_to_day_of_activity import LastDay
from hooks.record.job_reasons import describe_reasons
from hooks.record.note_refused_requests import note_refused_requests
from hooks.record.pass_as_journal_entry import Timing, describe_pass
from hooks.record.read_and_decided_in_pass import Decision, ServerRead
from hooks.record.real_and_dry_run_counts import DryRunCounts
from hooks.record.runs_gone_since_last_pass import counts_cpu_time, find_finished, learns, note_runs
from hooks.record.summarize_for_event_hooks import NO_LISTS, summarize
from hooks.store.event_hook_summary import SUMMARY
from hooks.store.original_priorities import read_priorities, with_own_priorities, write_priorities
from hooks.store.state_files import FAIR_SHARE, LAST_PASS, LEDGER, OBSERVED_LEDGER, REASONS, RUNS, State
from hooks.store.state_folder import state_folder
from hooks.translate.closures.published_closures import closed_to_data
from hooks.translate.published_site_orders import orders_to_data
from hooks.translate.site_order import needed_attributes
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.plan.plan_types import Plan
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Changes

if TYPE_CHECKING:
    from policy.forecast.simulate_forward import LimitsFrom

_PROGRAMS_SHARE = 0.5
"""The share of a pass's time that the programs of dynamic resources may take."""


def handle(pbs: Any) -> str | None:
    """Run the due pass, and if it drives, the early ones after it."""
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    watched = TimedServerCalls(pbs_ifl)
    early_passes = EarlyPasses(watched, pbs.hook_config_filename, state_folder(pbs.pbs_conf["PBS_HOME"]))
    activity = LastDay()
    with closing(early_passes):
        outcome = _handle_pass(pbs, watched, early_passes, activity)
        while outcome is not None and outcome.may_be_followed:
            try:
                coming = early_passes.wait(outcome.passed)
            except KeyboardInterrupt:
                # PBS's alarm came while the process only waited: nothing is cut off.
                coming = None
            outcome = _handle_pass(pbs, watched, early_passes, activity, coming.early) if coming is not None else None
        if not early_passes.is_over:
            activity.write()
    return None


def _handle_pass(
    pbs: Any, pbs_ifl: TimedServerCalls, early_passes: EarlyPasses, activity: LastDay, early: EarlyPass | None = None
) -> PassOutcome | None:
    def run(settings: Settings, state: State, breaker: CircuitBreaker, sentences: list[str]) -> PassOutcome:
        if early is None:
            sentences += copy_server_changes(pbs_ifl, state, pbs.pbs_conf["PBS_HOME"], time.time())
        not_to_drive = breaker.why_not_to_drive
        return run_pass(
            pbs_ifl, settings, state, early, activity=activity, not_to_drive=not_to_drive, connect=early_passes.connect
        )

    return guard_pass(pbs, pbs_ifl, early_passes, run, early)


def run_pass(
    pbs_ifl: Any,
    settings: Settings,
    state: State,
    early: EarlyPass | None = None,
    *,
    activity: LastDay | None = None,
    not_to_drive: str = "",
    notes: Sequence[str] = (),
    connect: Callable[[Any], AbstractContextManager[Connection]] = Connection,
) -> PassOutcome:
    """One pass over the server of ``pbs_ifl``, due or early (``early``). An early pass does nothing if its time is over
    once it has decided, and has no line in the journal if it did nothing. ``not_to_drive``: why no queue may be driven
    now, empty if they may; ``notes``: sentences for the journal; ``activity``: the last day so far."""
    schedule = settings.schedule
    if early is not None:
        schedule = replace(schedule, budget_s=min(schedule.budget_s, early.left_s), max_comments=0)
    acting = replace(settings, schedule=schedule)
    budget = Budget(schedule.budget_s)
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    with connect(pbs_ifl) as connection:
        found = _read(connection, acting, state, read_plan_files(state) if early is None else PlanFiles())
        read_s = time.monotonic() - begun_s
        decision = _decide(found, acting, not_to_drive, budget)
        decision, warnings = _commit(decision, found, state)
        decide_s = time.monotonic() - begun_s - read_s
        cpu_s = time.process_time() - begun_cpu_s
        if early is not None and budget.left_s() <= 0:
            end_of_starts(state, decision.summary)
            return PassOutcome(warnings, PassResult(read_s + decide_s, cpu_s), may_be_followed=False)
        not_again = early.tried if early is not None else frozenset()
        least_s = time_to_act_s(schedule.budget_s) if early is None else 0.0
        outcome, quotas = _act(decision, found, acting, state, pbs_ifl, connection, budget, least_s, not_again)
        end_of_starts(state, decision.summary)
    timing = Timing(read_s, decide_s, time.monotonic() - begun_s - read_s - decide_s)
    unstarted = list(describe_unstarted(len(outcome.unstarted), read_s, schedule.budget_s)) if early is None else []
    all_notes = [*notes, *decision.notes, *warnings, *filter(None, [state.find_group_problem()]), *unstarted]
    outcome = outcome._replace(failures=[*quotas.failures, *outcome.failures])
    warnings += _record(
        decision, outcome, quotas, timing, all_notes, settings, state, activity or LastDay(), early=early is not None
    )
    is_unsettled = bool(decision.assignment.passing)
    grace_s = settings.checkpoint.grace_s
    # A requeue takes seconds, and none is requested twice meanwhile; without a grace the next pass would request it.
    leaves_victims = not decision.plan.preempts or (grace_s > 0 and not outcome.requeued and not outcome.failures)
    may_be_followed = (is_unsettled or bool(decision.permissions.start)) and leaves_victims
    tried = [*outcome.started, *outcome.refused]
    next_s = find_next_s(decision.plan, grace_s)
    passed = PassResult(read_s + decide_s, cpu_s, tried, bool(outcome.started), is_unsettled, next_s)
    if early is None and is_real_server(pbs_ifl):
        warnings += _forecast(decision, found.raw, settings, state)
    return PassOutcome([*warnings, *outcome.failures], passed, may_be_followed, "".join(unstarted))


def _read(connection: Connection, settings: Settings, state: State, quota_plan: PlanFiles) -> ServerRead:
    """Read the server, the schedulers' files and the records of earlier passes."""
    files: SchedFiles = {}

    def find_order_attributes(service: ServerStatus) -> Sequence[str]:
        nonlocal files
        files = read_sched_files(service)
        by_order = needed_attributes(service, files) if settings.order.by == "site" else ()
        return by_order if not counts_cpu_time(settings) else tuple(sorted({*by_order, "resources_used"}))

    raw = connection.read_server_status(time.time(), find_order_attributes)
    problems: Sequence[str] = ()
    asked = find_asked_for(raw, files)
    if asked:
        # Few sites have dynamic resources, and the others need not load what runs programs.
        from hooks.pbs.files_and_output.run_dynamic_resource_programs import with_printed

        files, problems = with_printed(raw, files, asked, settings.schedule.budget_s * _PROGRAMS_SHARE)
    priorities = read_priorities(state)
    not_requeued = read_not_requeued(state.read_published(NOT_REQUEUED), raw)
    no_victims = find_counting(not_requeued, raw.time_s)
    server_status = without_as_victims(with_own_priorities(raw, priorities), no_victims)
    runs = state.read_published(RUNS) if learns(settings) else {}
    switched = Switched.read(state)
    charged = record_from_data(state.read_published(FAIR_SHARE))
    return ServerRead(
        raw, server_status, files, priorities, switched, runs, charged, state.read_ledger, quota_plan, problems,
        not_requeued, read_refused_starts(state.read_published(STARTS_REFUSED), raw),
    )  # fmt: skip


def _decide(found: ServerRead, settings: Settings, not_to_drive: str, budget: Budget) -> Decision:
    """Decide what is to be done; writes nothing."""
    server_status = found.server_status
    translation = translate(server_status, settings, found.files)
    translation = translation._replace(snapshot=keep_waiting(translation.snapshot, found.refused))
    obstacles = find_obstacles(server_status, translation.modes, translation.unread, found.files)
    if not_to_drive:
        obstacles = {queue: not_to_drive for queue, mode in translation.modes.items() if mode == "drive"}
    # The notes name each obstacle with the queue that it stops.
    named = set(obstacles.values())
    translation = translation._replace(problems=tuple(each for each in translation.problems if each not in named))
    assignment = assign_schedulers(server_status, translation.modes, obstacles, found.switched)
    advised = {queue for queue, mode in translation.modes.items() if mode == "advise"}
    unsorted = find_unsorted(server_status, advised, found.files)
    permissions = Permissions(assignment.driven, assignment.driven | (advised - unsorted.keys()))
    if assignment.paused:
        permissions = Permissions(kept_back=assignment.kept_back, pause=name_pause(server_status, stopped=True))
    snapshot, now_s = translation.snapshot, int(server_status.time_s)
    charges = charge_usage(server_status, snapshot, assignment.driven, found.charged, now_s)
    # What observing pretends to have done must not count as done once the queues are driven.
    ledger_name = LEDGER if permissions.preempt else OBSERVED_LEDGER
    ledger, unusable = found.ledger_of(ledger_name)
    no_victims = find_counting(found.not_requeued, server_status.time_s)
    ledger = without_their_earmarks(ledger, no_victims)
    runs = None
    if learns(settings):
        runs = note_runs(snapshot, found.runs, settings, server_status.jobs)
        ended = find_finished(found.runs, server_status, ledger.preemptions, settings.schedule.interval_s)
        translation = translation._replace(snapshot=snapshot.apply(Changes(server_status.time_s, finished=ended)))
    budget_s = settings.schedule.budget_s
    deadline = ClockDeadline(time_to_decide_s(budget_s, budget_s - budget.left_s()))
    plan = decide(translation.snapshot, ledger, settings, deadline=deadline)
    slowest = deadline.slowest()
    summary = summarize(
        translation.snapshot, translation.modes, server_status, plan, permissions.start, assignment.in_cycle,
        lists=_list_cores(plan, permissions.start) if settings.ranking.lists != "none" else NO_LISTS,
        is_auto="auto" in settings.stripe.layouts,
    )  # fmt: skip
    summary = replace(summary, unguarded=may_go_unguarded(settings, server_status.queues, assignment, summary))
    advised_now = permissions.preempt - permissions.start
    advice = find_advice(plan, translation, found.raw, found.priorities, advised_now, settings)
    resource_changes = find_resource_changes(translation, server_status, summary, settings)
    notes = [*describe_left_out(plan.count("not-looked-at"), slowest), *found.problems]
    notes += describe_not_requeued(no_victims)
    notes += [f"queue {queue} is not driven: {obstacle}" for queue, obstacle in sorted(obstacles.items())]
    notes += [f"queue {queue}: {why}; no run is preempted there" for queue, why in sorted(unsorted.items())]
    remarks = [*find_queues_ordered_by_users(snapshot.cluster().queues, translation.modes, settings).items()]
    remarks += find_vnode_orders_not_followed(server_status, translation.modes, settings, found.files).items()
    notes += [f"queue {queue}: {what}" for queue, what in sorted(remarks)]
    notes += name_cores_of_gone_jobs(found.raw, snapshot.vnodes) + name_jobs_held_after_failed_starts(found.raw)
    notes += assignment.notes
    quota_work = find_quota_work(found.quota_plan, found.raw, translation.modes, permissions.pause)
    notes += quota_work.notes()
    return Decision(
        translation, plan, assignment, permissions, advice, resource_changes, notes, slowest, summary, ledger,
        ledger_name, unusable, runs, charges, quota_work,
    )  # fmt: skip


def _list_cores(plan: Plan, queues: Collection[str]) -> Mapping[str, str]:
    """The sockets and cores that starts hand to their jobs. Their formats are loaded only where a site wants that."""
    from policy.explain.hostfiles_for_mpi_and_openmp import lists_for_hosts

    return lists_for_hosts(plan, queues)


def _commit(decision: Decision, found: ServerRead, state: State) -> tuple[Decision, list[str]]:
    """Write to disk what must not be lost: the runs, the ledger, the summary with the planned starts, the priorities,
    the usage of fair share, and which planned quotas are about to be set. Returns what may be done of the decision, and
    sentences on a ledger that could not be used, and on what could not be written. Raises OSError if the disk does not
    take the first of these: then nothing is done."""
    if decision.runs is not None:
        state.publish(RUNS, decision.runs, shared=False)
    unusable, name = decision.unusable, decision.ledger_name
    warnings = [state.put_aside_ledger(name, unusable)] if unusable else []
    if decision.plan.ledger != decision.ledger or unusable:
        state.save_ledger(decision.plan.ledger, name)
    # The next pass writes it anew; without it the event hooks let everything through.
    state.publish(SUMMARY, decision.summary.to_data(), shared=False, sync=False)
    if decision.advice.memory != found.priorities:
        write_priorities(state, decision.advice.memory)
    if decision.charges.record != found.charged:
        # Before the files: a kill between the two loses the charge of one interval, and never charges twice.
        state.publish(FAIR_SHARE, record_to_data(decision.charges.record), shared=False)
    # Usage that decays changes a file and no record.
    warnings += write_usage(found.server_status, decision.charges.files)
    quota_work, problems = commit_quota_work(decision.quota_work, state)
    return decision._replace(quota_work=quota_work), [*warnings, *problems]


def _act(
    decision: Decision,
    found: ServerRead,
    settings: Settings,
    state: State,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    least_s: float,
    not_again: frozenset[str],
) -> tuple[Outcome, QuotaOutcome]:
    """Set planned quotas, switch the schedulers, advise them, and carry the plan out, without the starts of the jobs in
    ``not_again``. Advising and carrying out get at least ``least_s`` each, whatever is left of the budget."""
    plan, server_status, methods = decision.plan, found.server_status, decision.translation.methods
    quotas = set_limits(decision.quota_work, found.raw, state, connection, budget)
    pending_work = Requests(budget)
    failures = switch_guard(connection, settings, decision.summary)
    failures += switch_end_hook(connection, settings, server_status, methods, state)
    failures += switch(connection, server_status, decision.assignment, found.switched, state)
    budget.leave(least_s)
    above = give_advice(connection, decision.advice, pending_work)
    write_resource_changes(connection, decision.resource_changes, server_status, pending_work)
    budget.leave(least_s)
    outcome = apply_plan(
        plan,
        server_status,
        decision.permissions._replace(not_for=decision.advice.above - above, not_again=not_again),
        settings,
        methods,
        pbs_ifl=pbs_ifl,
        connection=connection,
        budget=budget,
        release=state.release_lock,
        digests=digests_to_compare(settings, decision.summary),
        is_judged_on=EndHookOnHosts(connection, state.path.parent).is_on,
    )
    # PBS's scheduler may not have noticed that the cores of a beneficiary are free, nor that an array was released.
    coming = above & {start.job.id for start in plan.starts}
    unnoticed = [*coming, *filter(is_array, outcome.released)]
    failures += trigger_cycle(connection, server_status, {server_status.jobs[job_id]["queue"] for job_id in unnoticed})
    note_refused_requests(state, found, outcome)
    outcome = outcome._replace(
        failures=[*failures, *pending_work.failures, *outcome.failures], put_off=outcome.put_off + pending_work.put_off
    )
    return outcome, quotas


def _forecast(decision: Decision, raw: ServerStatus, settings: Settings, state: State) -> list[str]:
    """Begin a forecast beside the passes if one is due. Returns sentences for the server's log."""
    if not is_forecast_due(state, settings.forecast, decision.plan.time_s):
        return []
    from hooks.forecast.make_forecast_in_background_and_publish import start_forecast
    from hooks.forecast.scale_forecast_to_cpu_time import Within
    from hooks.quota_plan.limits_ahead_by_quota_plan import planned_limits

    translation, work = decision.translation, decision.quota_work

    def planned() -> Sequence[LimitsFrom]:
        now_s = decision.plan.time_s
        before = {limit: override.before for limit, override in work.due.record.overrides.items()}
        return planned_limits(raw, translation.modes, work.published(), now_s, now_s + Within().horizon_s, before)

    return start_forecast(state, translation.snapshot, decision.ledger, settings, planned)


def _record(
    decision: Decision,
    outcome: Outcome,
    quotas: QuotaOutcome,
    timing: Timing,
    notes: list[str],
    settings: Settings,
    state: State,
    activity: LastDay,
    *,
    early: bool,
) -> list[str]:
    """Write the journal's line (an early pass has one only if it did something), the same entry for the console, the
    reasons of waiting jobs, the last day's activity, and of a due pass the planned quotas. Returns sentences for the
    server's log."""
    plan, permissions, modes = decision.plan, decision.permissions, decision.translation.modes
    episodes = DryRunCounts.read(state, plan.time_s).with_pass(plan, modes, permissions, outcome)
    episodes.write(state)
    assignment = decision.assignment
    about = (notes, assignment.passing, decision.slowest, assignment.paused, assignment.stopped)
    entry = describe_pass(plan, decision.translation, settings, permissions, outcome, episodes, timing, *about, early)
    entry["quotas_set"] = list(quotas.done)
    if not early or outcome.did_something:
        state.write_journal(entry, time.strftime("%Y-%m-%d", time.localtime(plan.time_s)), settings.server.journal_days)
    state.publish_lines(REASONS, describe_reasons(plan, modes), shared=True, sync=False)
    snapshot = decision.translation.snapshot
    queues = snapshot.cluster().queues.values()
    of_files = {"closed": closed_to_data(queues), "orders": orders_to_data(queues)}
    published = {**entry, "settings": settings.to_data(), "ledger": plan.ledger.to_data(), **of_files}
    state.publish(LAST_PASS, published, shared=True, sync=False)
    activity.note(state, snapshot, plan, outcome, settings.quota.shown, early=early)
    return [] if early else publish_quota_plan(decision.quota_work, state)
