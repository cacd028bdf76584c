"""The pass: read the server, decide, write to disk what must not be lost, act as the modes allow, record the pass.

It runs in a process of its own that dies with the pass, so all state is on disk. The ledger is written before anything
is done: a pass that is killed has done nothing that the next one does not know of. Passes that fail again and again
hand the queues back to PBS's own scheduler. A pass that drives may be followed by early ones, which start jobs and
write no comments.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

from hooks.act.advise_waiting import Hints, find_hints, give_hints
from hooks.act.apply_plan import Outcome, Permissions, apply_plan
from hooks.act.job_priorities import Advice, find_advice, give_advice
from hooks.act.start_jobs import digest_starts
from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts
from hooks.audit.shared_audit import copy_server_changes
from hooks.control.advise_obstacles import find_unheeded
from hooks.control.answer_time import Watched
from hooks.control.circuit_breaker import CircuitBreaker, begin_pass, end_silence, forget_pass, forget_unanswered
from hooks.control.decision_deadline import (
    PassDeadline,
    Slow,
    tell_left_out,
    tell_unstarted,
    time_to_act_s,
    time_to_decide_s,
)
from hooks.control.drive_obstacles import find_obstacles
from hooks.control.early_pass import EarlyPass, EarlyPasses, Passed
from hooks.control.express_queues import find_express_queues
from hooks.control.scheduler_switch import Assignment, Switched, assign_schedulers, switch, trigger_cycle
from hooks.pbs.client import Connection, ServerAwayError
from hooks.pbs.pause import name_pause
from hooks.pbs.requests import Budget, Requests
from hooks.pbs.sched_config import SchedFiles, read_sched_files
from hooks.pbs.status import ServerStatus
from hooks.record.dry_run_counts import Episodes
from hooks.record.journal_entry import Timing, describe_pass
from hooks.record.run_history import find_finished, learns, note_runs
from hooks.record.summarize import summarize
from hooks.store.config import is_removed, read_config
from hooks.store.priorities import Priorities, read_priorities, with_own_priorities, write_priorities
from hooks.store.state_dir import (
    LAST_PASS,
    LEDGER,
    OBSERVED_LEDGER,
    RUNS,
    SUMMARY,
    SecondWriterError,
    State,
    state_folder,
)
from hooks.store.summary import read_summary
from hooks.translate.snapshot import Translation, translate
from policy.cycle.engine import decide
from policy.model.ledger import Ledger
from policy.model.printable import printable
from policy.plan.plan import Plan
from policy.settings.site_settings import Settings
from policy.state.snapshot import Changes


def handle(pbs: Any) -> str | None:
    """Run the due pass, and if it drives, the early ones after it."""
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    watched = Watched(pbs_ifl)
    early_passes = EarlyPasses(watched, pbs.hook_config_filename)
    outcome = _handle_pass(pbs, watched, early_passes)
    while outcome is not None and outcome.may_be_followed:
        try:
            coming = early_passes.wait(outcome.passed)
        except KeyboardInterrupt:
            # PBS's alarm came while the process only waited: nothing is cut off.
            return None
        outcome = _handle_pass(pbs, watched, early_passes, coming.ahead) if coming is not None else None
    return None


def _handle_pass(
    pbs: Any, pbs_ifl: Watched, early_passes: EarlyPasses, ahead: EarlyPass | None = None
) -> PassOutcome | None:
    """One due pass, or one early pass (``ahead``); None if it did not come to its end.

    Only one pass runs at a time: a second one ends at once. A pass whose hook is being removed ends without a message.
    """
    config = pbs.hook_config_filename
    if is_removed(config):
        return None
    settings = _read_config_if_possible(config)
    state = State(state_folder(pbs.pbs_conf["PBS_HOME"]), settings.server.journal_group)
    alerts = Alerts(state)
    sentences: list[str] = []
    pbs_ifl.forget()
    try:
        with state.locked():
            if ahead is not None and early_passes.is_over:
                return None
            breaker = begin_pass(pbs_ifl, state, settings, sentences, alerts)
            settings = read_config(config)
            alerts.use(settings.alerts.command)
            early_passes.begin_pass(settings.schedule)
            if ahead is None:
                sentences += copy_server_changes(pbs_ifl, state, pbs.pbs_conf["PBS_HOME"], time.time())
            outcome = run_pass(pbs_ifl, settings, state, breaker, ahead)
            sentences += outcome.sentences
            breaker = breaker.ended()
            breaker.write(state)
            if ahead is None:
                alerts.note_unstarted(outcome.unstarted, time.time())
            alerts.note_pass(breaker.missing, time.time())
            return outcome
    except ServerAwayError as error:
        # Usually the server that began this pass is being shut down; but not if replies break off again and again.
        if not error.code:
            forget_pass(state)
        elif not forget_unanswered(state):
            raise
        pbs.logmsg(pbs.LOG_DEBUG, f"no pass of pbsteer: {printable(str(error))}")
    except SecondWriterError as error:
        if not is_removed(config) and ahead is None:
            sentences.append(f"no pass: {error}")
            sentences += _end_silence(pbs_ifl, state, settings, alerts)
    except Exception as error:
        if is_removed(config):
            return None
        alerts.report(FAILING, f"a pass failed: {type(error).__name__}: {error}", time.time())
        sentences += _end_silence(pbs_ifl, state, settings, alerts)
        raise
    except KeyboardInterrupt:
        if pbs_ifl.longest_s < settings.schedule.budget_s / 2 or not forget_unanswered(state):
            raise
        waited = f"the server did not answer {pbs_ifl.longest} for {pbs_ifl.longest_s:.0f} s"
        sentences.append(f"a pass was cut off by PBS's alarm: {waited}")
    finally:
        for sentence in [*sentences, *alerts.notes]:
            pbs.logmsg(pbs.LOG_WARNING, f"pbsteer: {printable(sentence)}")
    return None


def _end_silence(pbs_ifl: Any, state: State, settings: Settings, alerts: Alerts) -> list[str]:
    now_s = time.time()
    told = end_silence(pbs_ifl, state, settings, now_s)
    for sentence in told:
        alerts.report(HANDED_BACK, sentence, now_s)
    return told


def _read_config_if_possible(path: str | None) -> Settings:
    """The settings, or the built-in ones: a pass that will fail without settings must be counted all the same."""
    try:
        return read_config(path)
    except Exception:  # noqa: BLE001 - the pass reads them again, and fails once it is counted
        return Settings()


class ServerRead(NamedTuple):
    """What a pass has read. ``shown``: the server's status; ``server_status``: the same with the priorities that users
    gave; ``files``: the schedulers' files; ``priorities`` and ``switched``: the records of earlier passes."""

    shown: ServerStatus
    server_status: ServerStatus
    files: SchedFiles
    priorities: Priorities
    switched: Switched


class Decision(NamedTuple):
    """What a pass is going to do, and what it was decided from."""

    translation: Translation
    plan: Plan
    assignment: Assignment
    permissions: Permissions
    advice: Advice
    hints: Hints
    notes: list[str]
    warnings: list[str]
    slowest: list[Slow]


class PassOutcome(NamedTuple):
    """``sentences``: for the server's log; ``passed``: what the next pass has to know of this one; ``may_be_followed``:
    the next one may be early, as queues are driven or a scheduler is being switched, and the plan has no victims, which
    have their time until a pass is due; ``unstarted``: the sentence on starts that there was no time for."""

    sentences: list[str]
    passed: Passed
    may_be_followed: bool
    unstarted: str = ""


def run_pass(
    pbs_ifl: Any, settings: Settings, state: State, breaker: CircuitBreaker, ahead: EarlyPass | None = None
) -> PassOutcome:
    """One pass over the server of ``pbs_ifl``, due or early (``ahead``). An early pass does nothing if its time is over
    once it has decided, and has no line in the journal if it did nothing."""
    schedule = settings.schedule
    if ahead is not None:
        schedule = replace(schedule, budget_s=min(schedule.budget_s, ahead.left_s), max_comments=0)
    budget = Budget(schedule.budget_s)
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    with Connection(pbs_ifl) as connection:
        sight = _read(connection, settings, state)
        read_s = time.monotonic() - begun_s
        acting = replace(settings, schedule=schedule)
        decision = _decide(sight, acting, state, breaker, budget)
        decide_s = time.monotonic() - begun_s - read_s
        cpu_s = time.process_time() - begun_cpu_s
        if ahead is not None and budget.left_s() <= 0:
            return PassOutcome(decision.warnings, Passed(read_s + decide_s, cpu_s), may_be_followed=False)
        not_again = ahead.tried if ahead is not None else frozenset()
        least_s = time_to_act_s(schedule.budget_s) if ahead is None else 0.0
        outcome = _act(decision, sight, acting, state, pbs_ifl, connection, budget, least_s, not_again)
    timing = Timing(read_s, decide_s, time.monotonic() - begun_s - read_s - decide_s)
    unstarted = list(tell_unstarted(len(outcome.unstarted), read_s, schedule.budget_s)) if ahead is None else []
    decision.notes.extend(unstarted)
    _record(decision, outcome, timing, settings, state, is_told=ahead is None or outcome.did_something)
    is_unsettled = bool(decision.assignment.passing)
    may_be_followed = (is_unsettled or bool(decision.permissions.start)) and not decision.plan.preempts
    tried = [*outcome.started, *outcome.refused]
    passed = Passed(read_s + decide_s, cpu_s, tried, bool(outcome.started), is_unsettled)
    return PassOutcome([*decision.warnings, *outcome.failures], passed, may_be_followed, "".join(unstarted))


def _read(connection: Connection, settings: Settings, state: State) -> ServerRead:
    shown = connection.read_server_status(time.time())
    priorities = read_priorities(state)
    server_status = with_own_priorities(shown, priorities)
    return ServerRead(shown, server_status, read_sched_files(shown), priorities, Switched.read(state))


def _decide(sight: ServerRead, settings: Settings, state: State, breaker: CircuitBreaker, budget: Budget) -> Decision:
    """Decide, and write the ledger, the summary and the priorities to set to disk."""
    server_status = sight.server_status
    translation = translate(server_status, settings, sight.files)
    obstacles = find_obstacles(server_status, translation.modes, translation.unread, sight.files)
    if breaker.missing:
        told = f"passes had failed; pbsteer drives again after {breaker.missing} more without a failure"
        obstacles = {queue: told for queue, mode in translation.modes.items() if mode == "drive"}
    assignment = assign_schedulers(server_status, translation.modes, obstacles, sight.switched)
    advised = {queue for queue, mode in translation.modes.items() if mode == "advise"}
    deaf = find_unheeded(server_status, advised, sight.files)
    permissions = Permissions(assignment.driven, assignment.driven | (advised - deaf.keys()))
    if assignment.paused:
        permissions = Permissions(kept_back=assignment.kept_back, pause=name_pause(server_status, stopped=True))
    # What observing pretends to have done must not count as done once the queues are driven.
    ledger_name = LEDGER if permissions.preempt else OBSERVED_LEDGER
    ledger, complaint = state.load_ledger(ledger_name)
    if learns(settings):
        translation = _with_finished(translation, server_status, ledger, settings, state)
    budget_s = settings.schedule.budget_s
    deadline = PassDeadline(time_to_decide_s(budget_s, budget_s - budget.left_s()))
    plan = decide(translation.snapshot, ledger, settings, deadline=deadline)
    slowest = deadline.slowest()
    state.save_ledger(plan.ledger, ledger_name)
    summary = summarize(translation.snapshot, translation.modes, server_status, plan, permissions.start)
    planned = {
        "planned": digest_starts(plan.starts, server_status, permissions.start),
        "planned_s": server_status.time_s,
    }
    state.publish(SUMMARY, {**summary, **planned}, shared=False)
    advice = find_advice(plan, translation, sight.shown, sight.priorities, permissions.preempt - permissions.start)
    if advice.memory != sight.priorities:
        write_priorities(state, advice.memory)
    hints = find_hints(translation, server_status, read_summary(str(state.path.parent)), settings)
    notes = [*tell_left_out(plan.count("not-looked-at"), slowest)]
    notes += [f"queue {queue} is not driven: {obstacle}" for queue, obstacle in sorted(obstacles.items())]
    notes += [f"queue {queue}: {why}; nobody is preempted there" for queue, why in sorted(deaf.items())]
    express = find_express_queues(server_status, translation.modes, sight.files)
    notes += [f"queue {queue}: {what}" for queue, what in sorted(express.items())]
    warnings = [complaint] if complaint else []
    notes += [*assignment.notes, *warnings, *filter(None, [state.find_group_problem()])]
    return Decision(translation, plan, assignment, permissions, advice, hints, notes, warnings, slowest)


def _act(
    decision: Decision,
    sight: ServerRead,
    settings: Settings,
    state: State,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    least_s: float,
    not_again: frozenset[str],
) -> Outcome:
    """Switch the schedulers, advise them, and carry the plan out, without the starts of the jobs in ``not_again``.
    Advising and carrying out get at least ``least_s`` each, whatever is left of the budget."""
    plan, server_status = decision.plan, sight.server_status
    pending_work = Requests(budget)
    failures = switch(connection, decision.assignment, sight.switched, state)
    budget.leave(least_s)
    above = give_advice(connection, decision.advice, pending_work)
    give_hints(connection, decision.hints, pending_work)
    budget.leave(least_s)
    outcome = apply_plan(
        plan,
        server_status,
        decision.permissions._replace(not_for=decision.advice.above - above, not_again=not_again),
        settings,
        pbs_ifl=pbs_ifl,
        connection=connection,
        budget=budget,
        release=state.release_lock,
    )
    # Their cores are free, and PBS's scheduler may not have noticed.
    coming = above & {start.job.id for start in plan.starts}
    failures += trigger_cycle(connection, server_status, {server_status.jobs[job_id]["queue"] for job_id in coming})
    return outcome._replace(
        failures=[*failures, *pending_work.failures, *outcome.failures], put_off=outcome.put_off + pending_work.put_off
    )


def _record(
    decision: Decision, outcome: Outcome, timing: Timing, settings: Settings, state: State, *, is_told: bool
) -> None:
    """Write the journal's line if ``is_told``, and the same entry for the console."""
    plan, permissions, modes = decision.plan, decision.permissions, decision.translation.modes
    episodes = Episodes.read(state, plan.time_s).seen(plan, modes, permissions.start, permissions.preempt)
    episodes.write(state)
    notes, passing = decision.notes, decision.assignment.passing
    told = (notes, passing, decision.slowest, decision.assignment.paused)
    entry = describe_pass(plan, decision.translation, settings, permissions, outcome, episodes, timing, *told)
    day = time.strftime("%Y-%m-%d", time.localtime(plan.time_s))
    if is_told:
        state.write_journal(entry, day, settings.server.journal_days)
    published = {**entry, "settings": settings.to_data(), "ledger": plan.ledger.to_data()}
    state.publish(LAST_PASS, published, shared=True)


def _with_finished(
    translation: Translation, server_status: ServerStatus, ledger: Ledger, settings: Settings, state: State
) -> Translation:
    """The translation with the runs that have ended since the last pass; what runs now is recorded for the next one."""
    before = state.read_published(RUNS)
    finished = find_finished(before, server_status, ledger.preemptions, settings.schedule.interval_s)
    state.publish(RUNS, note_runs(translation.snapshot, before, settings), shared=False)
    snapshot = translation.snapshot.apply(Changes(server_status.time_s, finished=finished))
    return translation._replace(snapshot=snapshot)
