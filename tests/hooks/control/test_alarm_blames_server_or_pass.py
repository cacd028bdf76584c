"""A pass that PBS's alarm cuts off: while the server did not answer, which is no failure, or of its own doing."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from hooks.alerts.pass_alerts import describe_alerts
from hooks.control.circuit_breaker import CircuitBreaker
from hooks.control.server_wait_not_counted_as_failure import TimedServerCalls
from hooks.entries import periodic
from hooks.store.hook_settings import show_config
from hooks.store.state_files import State
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, queue, server_status
from tests.hooks.stand_in import pbs_ifl

BUDGET_S = 20.0
Cut = Callable[[float], list[str]]


@pytest.fixture
def cut(state: State, monkeypatch: pytest.MonkeyPatch) -> Cut:
    """Run a pass whose first look at the queues takes so long, and is then cut off; what it put into the log.

    The time is that of a clock of the test's: the pass takes none.
    """
    clock_s = [0.0]
    monkeypatch.setattr(periodic, "TimedServerCalls", partial(TimedServerCalls, clock=lambda: clock_s[0]))
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    pbs_ifl.WORLD.update(server_status({"1.s": job()}, queues={"workq": queue("drive")}).to_data())
    monkeypatch.setitem(sys.modules, "pbs_ifl", pbs_ifl)
    config = state.path.parent / "config.json"
    config.write_text(show_config(Settings(schedule=ScheduleSettings(budget_s=BUDGET_S))))
    logged: list[str] = []

    def log_line(_level: int, text: str) -> None:
        logged.append(text)

    home = {"PBS_HOME": str(state.path.parent)}
    pbs = SimpleNamespace(hook_config_filename=str(config), pbs_conf=home, logmsg=log_line, LOG_WARNING=4, LOG_DEBUG=7)

    def run(seconds: float) -> list[str]:
        def interrupted(*_given: Any) -> Any:
            clock_s[0] += seconds
            raise KeyboardInterrupt

        monkeypatch.setattr(pbs_ifl, "pbs_statque", interrupted)
        logged.clear()
        assert periodic.handle(pbs) is None
        return [*logged]

    return run


def test_a_server_that_does_not_answer_is_named_and_the_pass_has_not_failed(state: State, cut: Cut) -> None:
    assert cut(BUDGET_S / 2) == [
        "pbsteer: a pass was cut off by PBS's alarm: the server did not answer pbs_statque for 10 s"
    ]
    assert CircuitBreaker.read(state) == CircuitBreaker(unanswered=1)
    for _ in range(9):
        cut(BUDGET_S)
    assert CircuitBreaker.read(state) == CircuitBreaker(unanswered=10)
    assert describe_alerts(state) == {}


def test_ten_in_a_row_are_enough(state: State, cut: Cut) -> None:
    with state.locked():
        CircuitBreaker(unanswered=10).write(state)
    with pytest.raises(KeyboardInterrupt):
        cut(BUDGET_S)
    assert CircuitBreaker.read(state).unfinished == 1


def test_a_pass_that_took_the_time_itself_has_failed(state: State, cut: Cut) -> None:
    with pytest.raises(KeyboardInterrupt):
        cut(BUDGET_S / 2 - 1)
    assert CircuitBreaker.read(state) == CircuitBreaker(unfinished=1)


def test_the_longest_request_is_remembered_and_nothing_else_is_in_the_way() -> None:
    ticks = iter([0.0, 2.0, 5.0, 6.0])
    module = SimpleNamespace(pbs_statjob=lambda *given: given, pbs_statque=lambda: None, EQ=3)
    watched = TimedServerCalls(module, lambda: next(ticks))
    assert (watched.pbs_statjob(1, 2), watched.pbs_statque(), watched.EQ) == ((1, 2), None, 3)
    assert (watched.longest, watched.longest_s) == ("pbs_statjob", 2.0)
    assert not hasattr(watched, "pbs_asyrunjob_ack")
    watched.forget()
    assert (watched.longest, watched.longest_s) == ("", 0.0)
