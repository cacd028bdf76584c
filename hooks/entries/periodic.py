"""The pass: read the server, decide, carry out what the modes allow, and write down all of it.

It runs in a process of its own that dies with the pass; what must outlive it is on disk. The ledger is on disk before
anything is done, so that a pass that is killed has done nothing that the next one does not know of.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.account import Timing, describe_pass
from hooks.carry import Budget, carry_out
from hooks.config import read_config
from hooks.finished import find_finished, learns, note_runs
from hooks.ifl import Connection
from hooks.obstacles import find_obstacles, find_orphans, read_sched_files
from hooks.picture import Picture
from hooks.queues import read_consumables
from hooks.state import LAST_PASS, LEDGER, OBSERVED_LEDGER, RUNS, SUMMARY, SecondWriterError, State, state_folder
from hooks.summary import summarize
from hooks.translate import Translation, translate
from policy.engine import decide
from policy.ledger import Ledger
from policy.settings import Settings
from policy.snapshot import Changes


def handle(pbs: Any) -> str | None:
    """Run one pass. A pass that another one is still busy with is left to that."""
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    settings = read_config(pbs.hook_config_filename)
    state = State(state_folder(pbs.pbs_conf["PBS_HOME"]), settings.server.journal_group)
    try:
        with state.locked():
            for sentence in run_pass(pbs_ifl, settings, state):
                pbs.logmsg(pbs.LOG_WARNING, f"pbsteer: {sentence}")
    except SecondWriterError as error:
        pbs.logmsg(pbs.LOG_WARNING, f"pbsteer: no pass: {error}")
    return None


def run_pass(pbs_ifl: Any, settings: Settings, state: State) -> list[str]:
    """One pass over the server that ``pbs_ifl`` speaks to; returns what belongs into the server's log."""
    budget = Budget(settings.schedule.budget_s)
    begun_s = time.monotonic()
    with Connection(pbs_ifl) as connection:
        picture = connection.read_picture(time.time())
        read_s = time.monotonic() - begun_s
        translation = translate(picture, settings)
        driven = {queue for queue, mode in translation.modes.items() if mode == "drive"}
        obstacles = find_obstacles(picture, settings, translation.unread, read_sched_files(picture)) if driven else {}
        queues = driven - obstacles.keys()
        # What observing pretends to have done must not count as done once the queues are driven.
        ledger_name = LEDGER if queues else OBSERVED_LEDGER
        ledger, complaint = state.load_ledger(ledger_name)
        if learns(settings):
            translation = _with_finished(translation, picture, ledger, settings, state)
        plan = decide(translation.snapshot, ledger, settings)
        state.save_ledger(plan.ledger, ledger_name)
        summary = summarize(
            translation.snapshot,
            translation.modes,
            picture.server.get("default_queue", ""),
            read_consumables(picture.resources),
            plan.ledger,
        )
        state.publish(SUMMARY, summary, shared=False)
        decide_s = time.monotonic() - begun_s - read_s
        effects = carry_out(
            plan,
            picture,
            queues,
            pbs_ifl=pbs_ifl,
            connection=connection,
            budget=budget,
            release=state.release_lock,
        )
    timing = Timing(read_s, decide_s, time.monotonic() - begun_s - read_s - decide_s)
    notes = [f"queue {queue} is not driven: {obstacle}" for queue, obstacle in sorted(obstacles.items())]
    notes += find_orphans(picture, settings)
    notes += filter(None, (complaint, state.find_group_problem()))
    entry = describe_pass(plan, translation, effects, timing, notes)
    day = time.strftime("%Y-%m-%d", time.localtime(picture.time_s))
    state.write_journal(entry, day, settings.server.journal_days)
    published = {**entry, "settings": settings.to_data(), "ledger": plan.ledger.to_data()}
    state.publish(LAST_PASS, published, shared=True)
    return [*([complaint] if complaint else []), *effects.failures]


def _with_finished(
    translation: Translation, picture: Picture, ledger: Ledger, settings: Settings, state: State
) -> Translation:
    """The translation with what has ended since the last pass; what runs now is written down for the next one."""
    before = state.read_published(RUNS)
    finished = find_finished(before, picture, ledger.preemptions, settings.schedule.interval_s)
    state.publish(RUNS, note_runs(translation.snapshot, before, settings), shared=False)
    snapshot = translation.snapshot.apply(Changes(picture.time_s, finished=finished))
    return translation._replace(snapshot=snapshot)
