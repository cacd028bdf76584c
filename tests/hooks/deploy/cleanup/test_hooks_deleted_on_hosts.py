"""Waiting until hosts have lost our hooks: it ends with the last answer, or once no host answers any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.deploy.cleanup import hooks_deleted_on_hosts
from hooks.deploy.cleanup.hooks_deleted_on_hosts import await_deleted_on_hosts

HOOK = "pbsteer_exechost_periodic"


class Hosts:
    """PBS's file of what it has still to send, of which each wait brings the next state; ``passed_s`` of waiting."""

    def __init__(self, home: Path, *states: str) -> None:
        self.file = home / "server_priv" / "hooks" / "tracking.TR"
        self.file.parent.mkdir(parents=True)
        self.states: Iterator[str] = iter(states)
        self.passed_s = 0.0
        self.sleep(0.0)

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds
        self.file.write_text(next(self.states, None) or self.file.read_text())

    def monotonic(self) -> float:
        return self.passed_s


def _await(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr(hooks_deleted_on_hosts, "time", hosts)
    return await_deleted_on_hosts(hosts.file.parents[2], (HOOK,))


def test_it_ends_once_the_last_host_has_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = f"n1:15002 {HOOK} 8 5\nn2:15002 {HOOK} 8 6\n"
    hosts = Hosts(tmp_path, asked, f"{asked}n1:15002 {HOOK} 0 5\n", "n2:15002 other 8 9\n")
    assert _await(hosts, monkeypatch) == ()
    assert 0 < hosts.passed_s < 1


def test_hosts_that_do_not_answer_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts(tmp_path, f"n1:15002 {HOOK} 8 5\nn2:15002 {HOOK} 8 5\n", f"n2:15002 {HOOK} 8 5\n")
    assert _await(hosts, monkeypatch) == ("n2",)
    assert 5 <= hosts.passed_s < 6


def test_however_slowly_they_answer_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = ["".join(f"n{each}:15002 {HOOK} 8 5\n" for each in range(left)) for left in range(1000, 0, -1)]
    hosts = Hosts(tmp_path, *states)
    assert len(_await(hosts, monkeypatch)) > 500
    assert 60 <= hosts.passed_s < 61


def test_without_a_file_nothing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: float) -> None:
        raise AssertionError("there is nothing to wait for")

    monkeypatch.setattr(time, "sleep", wait)
    assert await_deleted_on_hosts(tmp_path, (HOOK,)) == ()
