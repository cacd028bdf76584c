"""Podman is asked for no more than the machine allows, and its complaints come with what may help."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from container.engines import call_podman as module
from container.engines.call_podman import call_podman, limit_options
from container.testbed_spec import TestbedError


def test_arguments_arrive_as_they_are_and_the_environment_is_the_callers(
    podman_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINERS_CONF", "/site/containers.conf")
    podman_program.write_text('#!/bin/sh\nprintf "%s\\n" "$CONTAINERS_CONF" "$@"\n')
    assert call_podman(["run", "a b", "$(x)"]).stdout.splitlines()[0] == "/site/containers.conf"
    assert call_podman(["run", "a b", "$(x)"]).stdout.splitlines()[-3:] == ["run", "a b", "$(x)"]


@pytest.mark.parametrize(
    ("complaint", "hint"),
    [
        ("error setting rlimit type 7: operation not permitted", "default_ulimits"),
        ("netavark: No such file or directory", "packages netavark, aardvark-dns and iptables"),
        ("subnet 10.30.1.0/24 is already used on the host", "another --name"),
        ("the container name t is already in use", "another container has this name"),
    ],
)
def test_a_complaint_comes_with_podmans_words_and_what_may_help(
    podman_program: Path, complaint: str, hint: str
) -> None:
    podman_program.write_text(f'#!/bin/sh\necho "Error: {complaint}" >&2\nexit 125\n')
    with pytest.raises(TestbedError, match=f"podman run ended with status 125: Error: {complaint}; .*{hint}"):
        call_podman(["run"])


def test_a_complaint_that_nobody_knows_is_passed_on_alone(podman_program: Path) -> None:
    podman_program.write_text('#!/bin/sh\necho "Error: flux" >&2\nexit 1\n')
    with pytest.raises(TestbedError, match=r"Error: flux$"):
        call_podman(["run"])


def test_where_root_may_raise_limits_podman_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_may_raise_limits", lambda: True)
    assert limit_options() == []


def test_where_root_may_not_raise_limits_podman_asks_for_no_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_may_raise_limits", lambda: False)
    hard = {resource.RLIMIT_NOFILE: 512, resource.RLIMIT_NPROC: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (hard[kind], hard[kind]))
    assert limit_options() == ["--ulimit", "nofile=512:512", "--ulimit", "nproc=4096:4096"]
