"""Waiting for the server's word on its port of schedulers."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from torque.passes.other_schedulers import find_listener
from torque.passes.wake_ups import PortTakenError, WakeUps

OF_THIS_USER = {"managers": f"{getpass.getuser()}@tq"}


@pytest.fixture
def stop() -> Iterator[tuple[int, int]]:
    pipe = os.pipe()
    yield pipe
    for end in pipe:
        os.close(end)


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])


def send(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)


def test_the_server_wakes_and_many_words_are_one_pass(stop: tuple[int, int], port: int) -> None:
    wake_ups = WakeUps(port, stop[0])
    wake_ups.listen()
    for command in (1, 2, 3):
        send(port, command.to_bytes(4, "big"))
    begun_s = time.monotonic()
    assert wake_ups.wait(30)
    assert time.monotonic() - begun_s < 10
    assert not wake_ups.wait(0)
    wake_ups.close()


def test_a_connection_without_a_word_does_not_wake(stop: tuple[int, int], port: int) -> None:
    wake_ups = WakeUps(port, stop[0])
    wake_ups.listen()
    send(port, b"")
    assert not wake_ups.wait(0.3)
    wake_ups.close()


@pytest.fixture
def silent(port: int) -> Iterator[list[socket.socket]]:
    """Connections without a word, one after another faster than each is waited for, until the test or their time
    ends."""
    is_over, opened = threading.Event(), list[socket.socket]()
    until_s = time.monotonic() + 20

    def connect() -> None:
        while not is_over.wait(0.02) and time.monotonic() < until_s:
            with contextlib.suppress(OSError):
                opened.append(socket.create_connection(("127.0.0.1", port), timeout=0.1))

    thread = threading.Thread(target=connect)
    thread.start()
    yield opened
    is_over.set()
    thread.join()
    for each in opened:
        each.close()


def test_silent_connections_without_end_hold_up_neither_the_next_pass_nor_the_end(
    stop: tuple[int, int], port: int, silent: list[socket.socket]
) -> None:
    wake_ups = WakeUps(port, stop[0])
    wake_ups.listen()
    begun_s = time.monotonic()
    assert not wake_ups.wait(1)
    assert len(silent) > 5
    os.write(stop[1], b".")
    assert not wake_ups.wait(30)
    assert time.monotonic() - begun_s < 10
    wake_ups.close()


def test_the_end_of_the_process_ends_the_waiting(stop: tuple[int, int], port: int) -> None:
    wake_ups = WakeUps(port, stop[0])
    os.write(stop[1], b".")
    assert not wake_ups.wait(30)
    assert wake_ups.is_stopped


def test_a_port_of_another_process_is_an_error_that_names_it(stop: tuple[int, int], port: int) -> None:
    child = os.fork()
    if not child:
        taken = socket.socket()
        taken.bind(("", port))
        taken.listen()
        time.sleep(60)
        os._exit(0)
    try:
        deadline_s = time.monotonic() + 20
        while not find_listener(port, OF_THIS_USER) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        with pytest.raises(PortTakenError, match=str(port)):
            WakeUps(port, stop[0]).listen()
        assert find_listener(port, OF_THIS_USER).endswith(f"(process {child})")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_the_port_is_given_back(stop: tuple[int, int], port: int) -> None:
    first, second = WakeUps(port, stop[0]), WakeUps(port, stop[0])
    first.listen()
    assert first.is_listening
    first.close()
    second.listen()
    assert (first.is_listening, second.is_listening) == (False, True)
    second.close()
