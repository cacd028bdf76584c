"""The poller: what it hands on, that it never stacks polls, that it is patient, and that failures are news too."""

from __future__ import annotations

import queue
import threading
import time

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from tests.tui.scripted_server import ScriptedBackend, changed
from tui.state.server_poller import PATIENCE, Polled, Poller, PollFailed, PollResult

LONGEST_S = 60.0
PREPARING_S = 1.0


class PolledServer:
    """A poller whose news can be waited for."""

    def __init__(self, backend: ScriptedBackend, interval_s: float) -> None:
        self.news: queue.Queue[PollResult] = queue.Queue()
        self.poller = Poller(backend, self.news.put, interval_s, time.perf_counter)
        self.poller.start()

    def next(self) -> PollResult:
        return self.news.get(timeout=LONGEST_S)

    def stop(self) -> None:
        self.poller.stop()
        self.poller.join(LONGEST_S)


def test_the_first_picture_comes_at_once_and_then_with_its_plan() -> None:
    watched = PolledServer(ScriptedBackend(), 60)
    first, second = watched.next(), watched.next()
    watched.stop()
    assert isinstance(first, Polled)
    assert isinstance(second, Polled)
    assert (first.cluster.decision is None, second.cluster.decision is None) == (True, False)


def test_asking_polls_now() -> None:
    backend = ScriptedBackend()
    watched = PolledServer(backend, 60)
    watched.next(), watched.next()
    watched.poller.ask()
    watched.next()
    watched.stop()
    assert backend.polls == 2


def test_a_failure_is_news_and_polling_goes_on() -> None:
    backend = ScriptedBackend(failure="Connection refused")
    watched = PolledServer(backend, 0.01)
    failed = watched.next()
    assert isinstance(failed, PollFailed)
    assert failed.text == "Connection refused"
    backend.failure = ""
    while not isinstance(watched.next(), Polled):
        pass
    watched.stop()


def test_half_an_answer_is_news_too() -> None:
    backend = ScriptedBackend()
    backend.server_status = changed(backend.server_status, jobs={"1.s": None})
    watched = PolledServer(backend, 60)
    failed = watched.next()
    watched.stop()
    assert isinstance(failed, PollFailed)
    assert failed.text


class Slow(ScriptedBackend):
    """A server that takes its time, and notices when it is asked twice at once."""

    at_once = 0
    most_at_once = 0
    took_s = 0.05

    def poll(self) -> ServerStatus:
        Slow.at_once += 1
        Slow.most_at_once = max(Slow.most_at_once, Slow.at_once)
        time.sleep(self.took_s)
        Slow.at_once -= 1
        return super().poll()


def test_polls_are_never_stacked_however_often_one_asks() -> None:
    watched = PolledServer(Slow(), 60)
    for _ in range(20):
        watched.poller.ask()
        time.sleep(0.005)
    watched.stop()
    assert Slow.most_at_once == 1


def test_a_slow_server_is_left_in_peace_for_longer() -> None:
    backend = Slow()
    watched = PolledServer(backend, 0.0)
    watched.next(), watched.next()
    began_s = time.monotonic()
    watched.next()
    watched.stop()
    assert time.monotonic() - began_s >= PATIENCE * backend.took_s


def test_a_stopped_poller_says_nothing_more() -> None:
    said = threading.Event()
    poller = Poller(ScriptedBackend(), lambda _: said.set(), 60, time.perf_counter)
    poller.stop()
    poller.start()
    poller.join(10)
    assert not said.is_set()


def test_what_has_to_be_made_before_the_first_answer_is_not_the_servers_time() -> None:
    """A simulated cluster that takes long to build would otherwise stand still for nine times as long."""
    news: queue.Queue[PollResult] = queue.Queue()
    made: list[float] = []

    def make() -> None:
        if not made:
            time.sleep(PREPARING_S)
        made.append(time.monotonic())

    poller = Poller(ScriptedBackend(), news.put, 0.0, time.perf_counter, prepare=make)
    poller.start()
    first = news.get(timeout=LONGEST_S)
    news.get(timeout=LONGEST_S), news.get(timeout=LONGEST_S)
    again_s = time.monotonic()
    poller.stop()
    poller.join(LONGEST_S)
    assert isinstance(first, Polled)
    assert first.cluster.poll_s < PREPARING_S
    assert again_s - made[0] < PATIENCE * PREPARING_S
