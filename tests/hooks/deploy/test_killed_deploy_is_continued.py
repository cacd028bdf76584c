"""Deploying that is killed: nobody goes back, and whatever it left, the next apply or removal comes to its end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import Reply
from hooks.deploy.steps_between_server_states import Step
from tests.hooks.admin_steps_for_deploy_tests import PART, SETTINGS, silent, use_it
from tests.hooks.fake_qmgr import FakeQmgr


class Killed(BaseException):
    """The end of the process that deploys: nothing of it runs any more."""


class Server(FakeQmgr):
    """A server with resources of somebody else's, and one who deploys and may be killed."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.home = home
        self.is_dead = False
        self("create resource pbsteer_save type=string,flag=r")
        self("create resource user_priority type=long,flag=i")
        self("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
        self.found = self.see()

    def __call__(self, line: str) -> Reply:
        if self.is_dead:
            raise Killed
        return super().__call__(line)

    def see(self) -> object:
        hooks, resources, settings, *others = copy.deepcopy((
            self.hooks, self.resources, self.settings, self.scheduling, self.partitions
        ))  # fmt: skip
        return hooks, resources, sorted(settings), others, (self.home / "pbsteer").exists()

    def kill_before(self, step: int, act: Callable[[Callable[[str], None]], object]) -> bool:
        """Have somebody killed before a step, counted from 0, of what they do; whether it came to that."""
        left = step

        def say(line: str) -> None:
            nonlocal left
            if not line.startswith("#"):
                self.is_dead = left == 0
                left -= 1
                if self.is_dead:
                    raise Killed

        try:
            act(say)
        except Killed:
            self.is_dead = False
            return True
        return False


def apply(server: Server, say: Callable[[str], None] = silent) -> list[Step]:
    return Deployment(str(server.home), server).apply(SETTINGS, say, PART)


def remove(server: Server, say: Callable[[str], None] = silent) -> None:
    Deployment(str(server.home), server).remove(say)


@pytest.mark.slow
@pytest.mark.parametrize("goes_on", [False, True])
def test_wherever_an_apply_is_killed_the_next_goes_on_and_a_removal_leaves_nothing(
    tmp_path: Path, goes_on: bool
) -> None:
    steps = len(apply(Server(tmp_path / "whole")))
    for step in range(steps):
        server = Server(tmp_path / str(step))
        assert server.kill_before(step, partial(apply, server))
        if goes_on:
            apply(server)
            assert apply(server) == []
        remove(server)
        assert server.see() == server.found, step


@pytest.mark.slow
def test_wherever_a_removal_is_killed_the_next_goes_on(tmp_path: Path) -> None:
    for step in range(200):
        server = Server(tmp_path / str(step))
        apply(server)
        use_it(server)
        server("unset queue workq max_run_res_soft.user_priority")
        server("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
        if not server.kill_before(step, partial(remove, server)):
            break
        remove(server)
        assert server.see() == server.found, step
    assert step > len(HOOKS)
    assert server.see() == server.found


@pytest.mark.slow
def test_wherever_a_removal_is_killed_an_apply_has_all_at_work_again(tmp_path: Path) -> None:
    for step in range(200):
        server = Server(tmp_path / str(step))
        apply(server)
        if not server.kill_before(step, partial(remove, server)):
            break
        apply(server)
        assert apply(server) == []
        remove(server)
        assert server.see() == server.found, step
    assert step > len(HOOKS)
