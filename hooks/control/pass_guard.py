"""Runs a pass under guard: only one at a time, counted by the circuit breaker, with each failure logged and reported.

Whatever fails in a pass, the queues go back to PBS's own scheduler if no pass could begin for long.
"""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple

from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts
from hooks.control.circuit_breaker import CircuitBreaker, begin_pass, end_silence, forget_pass, forget_unanswered
from hooks.control.early_pass import EarlyPass, EarlyPasses, PassResult, changed_s
from hooks.control.server_wait_not_counted_as_failure import TimedServerCalls
from hooks.pbs.client.pbs_ifl_client import ServerAwayError
from hooks.store.hook_settings import is_removed, read_config
from hooks.store.state_files import SecondWriterError, State
from hooks.store.state_folder import state_folder
from policy.model.printable_text import printable
from policy.settings.site_settings import Settings


class PassOutcome(NamedTuple):
    """``sentences``: for the server's log; ``passed``: what the next pass has to know of this one; ``may_be_followed``:
    the next one may be early, as queues are driven or a scheduler is being switched, and the victims, if there are any,
    have more time than until a due pass and were not requeued; ``unstarted``: the sentence on starts that there was no
    time for."""

    sentences: list[str]
    passed: PassResult
    may_be_followed: bool
    unstarted: str = ""


RunPass = Callable[[Settings, State, CircuitBreaker, list[str]], PassOutcome]
"""Runs the pass itself; sentences for the server's log that a failure must not lose go into the list."""


def guard_pass(
    pbs: Any, pbs_ifl: TimedServerCalls, early_passes: EarlyPasses, run: RunPass, early: EarlyPass | None = None
) -> PassOutcome | None:
    """One due pass, or one early pass (``early``); None if it did not finish, or if passes rest.

    A second pass at the same time ends at once. A pass whose hook is being removed ends without a message.
    """
    config = pbs.hook_config_filename
    if is_removed(config):
        return None
    settings = _read_config_if_possible(config)
    state = State(state_folder(pbs.pbs_conf["PBS_HOME"]), settings.server.journal_group)
    # Until it is known what earlier passes reported: a pass that cannot find that out is reported all the same.
    alerts = Alerts(state)
    sentences: list[str] = []
    breaker: CircuitBreaker | None = None
    pbs_ifl.forget()
    try:
        alerts = Alerts.read(state)
        with state.locked():
            if early is not None and early_passes.is_over:
                return None
            breaker = begin_pass(pbs_ifl, state, settings, sentences, alerts, changed_s(config))
            if breaker is None:
                return None
            settings = read_config(config)
            alerts.use(settings.alerts.command)
            early_passes.begin_pass(settings.schedule)
            outcome = run(settings, state, breaker, sentences)
            sentences += outcome.sentences
            breaker = breaker.ended()
            breaker.write(state)
            if early is None:
                alerts.note_unstarted(outcome.unstarted, time.time())
            alerts.note_pass(breaker.successes_needed, time.time())
            return outcome
    except ServerAwayError as error:
        # Usually the server that began this pass is being shut down; but not if replies break off again and again.
        if not error.code:
            forget_pass(state)
        elif not forget_unanswered(state):
            raise
        pbs.logmsg(pbs.LOG_DEBUG, f"no pass of pbsteer: {printable(str(error))}")
    except SecondWriterError as error:
        if not is_removed(config) and early is None:
            sentences.append(f"no pass: {error}")
            sentences += _end_silence(pbs_ifl, state, settings, alerts)
    except Exception as error:
        if is_removed(config):
            return None
        alerts.report(FAILING, f"a pass failed: {type(error).__name__}: {error}", time.time())
        sentences += _end_silence(pbs_ifl, state, settings, alerts, uncounted=breaker is None)
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


def _end_silence(
    pbs_ifl: Any, state: State, settings: Settings, alerts: Alerts, *, uncounted: bool = False
) -> list[str]:
    now_s = time.time()
    sentences = end_silence(pbs_ifl, state, settings, now_s, uncounted=uncounted)
    for sentence in sentences:
        alerts.report(HANDED_BACK, sentence, now_s)
    return sentences


def _read_config_if_possible(path: str | None) -> Settings:
    """The settings, or the built-in ones: a pass that will fail without settings must be counted all the same."""
    try:
        return read_config(path)
    except Exception:  # noqa: BLE001 - the pass reads them again, and fails once it is counted
        return Settings()
