"""A submission wakes the process that waits for the next pass, which comes within milliseconds; passes rest as ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.control.early_pass import EarlyPasses, PassResult, ServerPoll
from hooks.pbs.client.pbs_ifl_client import Connection
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from tests.hooks.control.early_passes_by_fake_clock import MORE, Clock, count, run_early_passes
from tests.hooks.stand_in import pbs_ifl

SELDOM = ScheduleSettings(interval_s=15, look_s=1)


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[float]:
    """When the server was polled again."""
    found: list[float] = []
    poll = ServerPoll.read_again

    def read_again(seen: ServerPoll, connection: Connection) -> ServerPoll:
        found.append(clock.now_s)
        return poll(seen, connection)

    monkeypatch.setattr(ServerPoll, "read_again", read_again)
    return found


@pytest.mark.parametrize("after_s", [0.1, 2.22, 3.0, 9.7])
@pytest.mark.parametrize("queued_s", [0.001, 0.008, 0.25])
def test_the_pass_comes_as_soon_as_the_server_has_the_job(
    clock: Clock, config: Path, after_s: float, queued_s: float
) -> None:
    clock.at[clock.now_s + after_s] = clock.submit
    clock.at[clock.now_s + after_s + queued_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, SELDOM, took_s=0.2, spent_s=0.01)
    assert max(after_s, 0.2) < waited_s <= max(after_s, 0.2) + 2 * queued_s + 0.01
    assert left_s == pytest.approx(15 - waited_s)


def test_a_submission_that_comes_to_nothing_brings_no_pass(clock: Clock, config: Path, polls: list[float]) -> None:
    at_s = clock.now_s + 3.01
    clock.at[at_s] = clock.submit
    assert run_early_passes(clock, config, SELDOM, spent_s=0.01)[1] == 0
    woken = [poll_s for poll_s in polls if at_s <= poll_s <= at_s + 0.33]
    assert len(woken) == 9
    assert len(polls) - len(woken) <= 15, "then the polls come at their interval again"


def test_however_many_submissions_there_are_the_server_is_polled_fewer_than_thirty_times_a_second(
    clock: Clock, config: Path, polls: list[float]
) -> None:
    clock.at.update({clock.now_s + number / 200: clock.submit for number in range(3000)})
    run_early_passes(clock, config, SELDOM, spent_s=0.01)
    assert 10 * 14 <= len(polls) < 30 * 15


@pytest.mark.parametrize("cpu_s", [0.02, 0.1])
def test_however_many_submissions_there_are_passes_take_a_tenth_of_a_core(
    clock: Clock, config: Path, cpu_s: float
) -> None:
    for number in range(1400):
        clock.at[clock.now_s + number / 100] = clock.submit
        clock.at[clock.now_s + number / 100 + 0.002] = count(f"Queued:{number}")
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    begun_s, passes = clock.now_s, 1
    early_passes.begin_pass(SELDOM)
    while early_passes.wait(PassResult(cpu_s, cpu_s)) is not None:
        passes += 1
        early_passes.begin_pass(SELDOM)
    early_passes.close()
    assert 0.05 <= passes * cpu_s / (clock.now_s - begun_s) <= 0.1 + cpu_s / 10
