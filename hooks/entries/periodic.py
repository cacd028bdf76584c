"""The pass: read the server, decide, put on disk what must not be forgotten, act as the modes allow, write it all down.

It runs in a process of its own that dies with the pass; what must outlive it is on disk. The ledger is on disk before
anything is done, so that a pass that is killed has done nothing that the next one does not know of. Passes that fail
again and again hand the queues back to PBS's own scheduler. Where one drives, it may be followed by others ahead of
their time: these start jobs, and write no comments.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

from hooks.act.advise_waiting import Hints, find_hints, give_hints
from hooks.act.apply_plan import Effects, Powers, carry_out
from hooks.act.job_priorities import Advice, find_advice, give_advice
from hooks.act.start_jobs import digest_starts
from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts
from hooks.audit.shared_audit import copy_server_changes
from hooks.control.advise_obstacles import find_unheeded
from hooks.control.answer_time import Watched
from hooks.control.circuit_breaker import Trust, begin_pass, end_silence, forget_pass, forget_unanswered
from hooks.control.decision_deadline import (
    PassDeadline,
    Slow,
    tell_left_out,
    tell_unstarted,
    time_to_act_s,
    time_to_decide_s,
)
from hooks.control.drive_obstacles import find_obstacles
from hooks.control.early_pass import Ahead, Passed, Vigil
from hooks.control.express_queues import find_express_queues
from hooks.control.scheduler_switch import Duties, Switched, nudge, share_out, switch
from hooks.pbs.client import Connection, ServerAwayError
from hooks.pbs.pause import name_pause
from hooks.pbs.requests import Budget, Errands
from hooks.pbs.sched_config import SchedFiles, read_sched_files
from hooks.pbs.status import Picture
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
    """Run the pass that is due, and where it drives those that come ahead of their time."""
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    watched = Watched(pbs_ifl)
    vigil = Vigil(watched, pbs.hook_config_filename)
    outcome = _handle_pass(pbs, watched, vigil)
    while outcome is not None and outcome.may_be_followed:
        try:
            coming = vigil.wait(outcome.passed)
        except KeyboardInterrupt:
            # PBS's alarm came while the process only waited: nothing is cut off.
            return None
        outcome = _handle_pass(pbs, watched, vigil, coming.ahead) if coming is not None else None
    return None


def _handle_pass(pbs: Any, pbs_ifl: Watched, vigil: Vigil, ahead: Ahead | None = None) -> Outcome | None:
    """One pass that is due, or one ``ahead`` of its time; None where it did not come to its end.

    A pass that another one is still busy with is left to that, and one whose hook is being removed ends without a
    word: nobody waits for what it would say.
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
            if ahead is not None and vigil.is_over:
                return None
            trust = begin_pass(pbs_ifl, state, settings, sentences, alerts)
            settings = read_config(config)
            alerts.use(settings.alerts.command)
            vigil.begin_pass(settings.schedule)
            if ahead is None:
                sentences += copy_server_changes(pbs_ifl, state, pbs.pbs_conf["PBS_HOME"], time.time())
            outcome = run_pass(pbs_ifl, settings, state, trust, ahead)
            sentences += outcome.sentences
            trust = trust.ended()
            trust.write(state)
            if ahead is None:
                alerts.note_unstarted(outcome.unstarted, time.time())
            alerts.note_pass(trust.missing, time.time())
            return outcome
    except ServerAwayError as error:
        # The server that began this pass is being shut down, as a rule. A server that ends its answers in the middle
        # again and again is not.
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
    """The settings, or the built-in ones: a pass that will fail for want of them must be counted all the same."""
    try:
        return read_config(path)
    except Exception:  # noqa: BLE001 - the pass reads them again, and fails once it is counted
        return Settings()


class Sight(NamedTuple):
    """What a pass has read: the server as it shows itself, and with the priorities that users gave; what the disk
    remembers of priorities and switches."""

    shown: Picture
    picture: Picture
    files: SchedFiles
    priorities: Priorities
    switched: Switched


class Decision(NamedTuple):
    """What a pass is going to do, and on what it was decided."""

    translation: Translation
    plan: Plan
    duties: Duties
    powers: Powers
    advice: Advice
    hints: Hints
    notes: list[str]
    warnings: list[str]
    slowest: list[Slow]


class Outcome(NamedTuple):
    """What belongs into the server's log; what the next pass has to know of this one; whether that may follow ahead of
    its time: where jobs are started or a scheduler is just being switched, and no running job was asked to make room,
    which has its time until a pass is due; the sentence on starts that there was no time for."""

    sentences: list[str]
    passed: Passed
    may_be_followed: bool
    unstarted: str = ""


def run_pass(pbs_ifl: Any, settings: Settings, state: State, trust: Trust, ahead: Ahead | None = None) -> Outcome:
    """One pass over the server that ``pbs_ifl`` speaks to, due or ``ahead`` of its time. The latter does nothing where
    its time is over once it has decided, and writes nothing into the journal where it did nothing."""
    schedule = settings.schedule
    if ahead is not None:
        schedule = replace(schedule, budget_s=min(schedule.budget_s, ahead.left_s), max_comments=0)
    budget = Budget(schedule.budget_s)
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    with Connection(pbs_ifl) as connection:
        sight = _read(connection, settings, state)
        read_s = time.monotonic() - begun_s
        acting = replace(settings, schedule=schedule)
        decision = _decide(sight, acting, state, trust, budget)
        decide_s = time.monotonic() - begun_s - read_s
        cpu_s = time.process_time() - begun_cpu_s
        if ahead is not None and budget.left_s() <= 0:
            return Outcome(decision.warnings, Passed(read_s + decide_s, cpu_s), may_be_followed=False)
        not_again = ahead.tried if ahead is not None else frozenset()
        least_s = time_to_act_s(schedule.budget_s) if ahead is None else 0.0
        effects = _act(decision, sight, acting, state, pbs_ifl, connection, budget, least_s, not_again)
    timing = Timing(read_s, decide_s, time.monotonic() - begun_s - read_s - decide_s)
    unstarted = list(tell_unstarted(len(effects.unstarted), read_s, schedule.budget_s)) if ahead is None else []
    decision.notes.extend(unstarted)
    _record(decision, effects, timing, settings, state, is_told=ahead is None or effects.did_something)
    is_unsettled = bool(decision.duties.passing)
    may_be_followed = (is_unsettled or bool(decision.powers.start)) and not decision.plan.preempts
    tried = [*effects.started, *effects.refused]
    passed = Passed(read_s + decide_s, cpu_s, tried, bool(effects.started), is_unsettled)
    return Outcome([*decision.warnings, *effects.failures], passed, may_be_followed, "".join(unstarted))


def _read(connection: Connection, settings: Settings, state: State) -> Sight:
    shown = connection.read_picture(time.time())
    priorities = read_priorities(state)
    picture = with_own_priorities(shown, priorities)
    return Sight(shown, picture, read_sched_files(shown), priorities, Switched.read(state))


def _decide(sight: Sight, settings: Settings, state: State, trust: Trust, budget: Budget) -> Decision:
    """Decide, and put the outcome on disk."""
    picture = sight.picture
    translation = translate(picture, settings, sight.files)
    obstacles = find_obstacles(picture, translation.modes, translation.unread, sight.files)
    if trust.missing:
        told = f"passes had failed; pbsteer drives again after {trust.missing} more without a failure"
        obstacles = {queue: told for queue, mode in translation.modes.items() if mode == "drive"}
    duties = share_out(picture, translation.modes, obstacles, sight.switched)
    advised = {queue for queue, mode in translation.modes.items() if mode == "advise"}
    deaf = find_unheeded(picture, advised, sight.files)
    powers = Powers(duties.driven, duties.driven | (advised - deaf.keys()))
    if duties.paused:
        powers = Powers(kept_back=duties.kept_back, pause=name_pause(picture, stopped=True))
    # What observing pretends to have done must not count as done once the queues are driven.
    ledger_name = LEDGER if powers.preempt else OBSERVED_LEDGER
    ledger, complaint = state.load_ledger(ledger_name)
    if learns(settings):
        translation = _with_finished(translation, picture, ledger, settings, state)
    budget_s = settings.schedule.budget_s
    deadline = PassDeadline(time_to_decide_s(budget_s, budget_s - budget.left_s()))
    plan = decide(translation.snapshot, ledger, settings, deadline=deadline)
    slowest = deadline.slowest()
    state.save_ledger(plan.ledger, ledger_name)
    summary = summarize(translation.snapshot, translation.modes, picture, plan, powers.start)
    planned = {"planned": digest_starts(plan.starts, picture, powers.start), "planned_s": picture.time_s}
    state.publish(SUMMARY, {**summary, **planned}, shared=False)
    advice = find_advice(plan, translation, sight.shown, sight.priorities, powers.preempt - powers.start)
    if advice.memory != sight.priorities:
        write_priorities(state, advice.memory)
    hints = find_hints(translation, picture, read_summary(str(state.path.parent)), settings)
    notes = [*tell_left_out(plan.count("not-looked-at"), slowest)]
    notes += [f"queue {queue} is not driven: {obstacle}" for queue, obstacle in sorted(obstacles.items())]
    notes += [f"queue {queue}: {why}; nobody is preempted there" for queue, why in sorted(deaf.items())]
    express = find_express_queues(picture, translation.modes, sight.files)
    notes += [f"queue {queue}: {what}" for queue, what in sorted(express.items())]
    warnings = [complaint] if complaint else []
    notes += [*duties.notes, *warnings, *filter(None, [state.find_group_problem()])]
    return Decision(translation, plan, duties, powers, advice, hints, notes, warnings, slowest)


def _act(
    decision: Decision,
    sight: Sight,
    settings: Settings,
    state: State,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    least_s: float,
    not_again: frozenset[str],
) -> Effects:
    """Switch schedulers, advise them, and carry the plan out, but for the starts of those ``not_again``. Each of the
    two latter has ``least_s`` for it, whatever is left of the budget."""
    plan, picture = decision.plan, sight.picture
    errands = Errands(budget)
    failures = switch(connection, decision.duties, sight.switched, state)
    budget.leave(least_s)
    above = give_advice(connection, decision.advice, errands)
    give_hints(connection, decision.hints, errands)
    budget.leave(least_s)
    effects = carry_out(
        plan,
        picture,
        decision.powers._replace(not_for=decision.advice.above - above, not_again=not_again),
        settings,
        pbs_ifl=pbs_ifl,
        connection=connection,
        budget=budget,
        release=state.release_lock,
    )
    # Their cores are free, and PBS's scheduler may not have noticed.
    coming = above & {start.job.id for start in plan.starts}
    failures += nudge(connection, picture, {picture.jobs[job_id]["queue"] for job_id in coming})
    return effects._replace(
        failures=[*failures, *errands.failures, *effects.failures], put_off=effects.put_off + errands.put_off
    )


def _record(
    decision: Decision, effects: Effects, timing: Timing, settings: Settings, state: State, *, is_told: bool
) -> None:
    """The journal's line where it ``is_told``, and the same for the console."""
    plan, powers, modes = decision.plan, decision.powers, decision.translation.modes
    episodes = Episodes.read(state, plan.time_s).seen(plan, modes, powers.start, powers.preempt)
    episodes.write(state)
    notes, passing = decision.notes, decision.duties.passing
    told = (notes, passing, decision.slowest, decision.duties.paused)
    entry = describe_pass(plan, decision.translation, settings, powers, effects, episodes, timing, *told)
    day = time.strftime("%Y-%m-%d", time.localtime(plan.time_s))
    if is_told:
        state.write_journal(entry, day, settings.server.journal_days)
    published = {**entry, "settings": settings.to_data(), "ledger": plan.ledger.to_data()}
    state.publish(LAST_PASS, published, shared=True)


def _with_finished(
    translation: Translation, picture: Picture, ledger: Ledger, settings: Settings, state: State
) -> Translation:
    """The translation with what has ended since the last pass; what runs now is written down for the next one."""
    before = state.read_published(RUNS)
    finished = find_finished(before, picture, ledger.preemptions, settings.schedule.interval_s)
    state.publish(RUNS, note_runs(translation.snapshot, before, settings), shared=False)
    snapshot = translation.snapshot.apply(Changes(picture.time_s, finished=finished))
    return translation._replace(snapshot=snapshot)
