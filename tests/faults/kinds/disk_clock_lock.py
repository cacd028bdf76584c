"""Faults of what pbsteer stands on: its files, its disk, the clock, and the one-pass-at-a-time of its folder."""

from __future__ import annotations

import random
import subprocess
import time
from typing import Callable

from tests.faults.build_injector_into_hook import Missed
from tests.faults.kinds.registry import HIT_S, STARTS, kind, linger
from tests.faults.testbed_under_faults import Ground, LostError

_TEMPORARY = (".ledger.json.new", ".last-pass.json.new", ".passes.json.new")
_HOWS = ("cut", "cut", "cut", "cut", "empty", "garbage", "newer", "wrong", "deep", "mode", "gone", "folder", "dangling")


# Files


@kind("file of pbsteer's damaged", 140)
def damage(ground: Ground, number: int, chance: random.Random) -> str:
    """Cut off at any byte, empty, garbage, from a newer version, other's, gone, a folder, a link to nowhere."""
    files = sorted(
        path.name for path in ground.state_path.iterdir() if path.is_file() and "unreadable" not in path.name
    )
    names = [*(name for name in files if not name.endswith(".new")), *_TEMPORARY]
    name = names[number % len(names)]
    how = _HOWS[number // len(names) % len(_HOWS)]
    share = round(chance.random(), 4)
    path = str(ground.home / name)
    order = ground.orders.give("periodic", "damage", path=path, how=how, share=share)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    what = f"cut off at {share:.0%}" if how == "cut" else how
    return f"{name} {what} when {hit.show()}"


@kind("disk full", 20)
def fill_disk(ground: Ground, _number: int, _chance: random.Random) -> str:
    """No byte is left under pbsteer's folder, for two passes."""
    return _withhold_disk(ground, ground.fill_disk)


@kind("no inode left", 20)
def fill_inodes(ground: Ground, _number: int, _chance: random.Random) -> str:
    """No file can be made there, for two passes."""
    return _withhold_disk(ground, ground.fill_inodes)


@kind("disk read-only", 20)
def read_only(ground: Ground, _number: int, _chance: random.Random) -> str:
    """Nothing can be written there, for two passes."""

    def remount() -> str:
        ground.pbs.wait_until(lambda: _succeeds(lambda: ground.remount("ro")), 60.0, "a moment without a writer")
        try:
            (ground.state_path / "probe").touch()
        except OSError as error:
            return str(error)
        raise LostError("the disk is not read-only")

    return _withhold_disk(ground, remount)


def _withhold_disk(ground: Ground, take: Callable[[], str]) -> str:
    size = len(ground.pbs.server_log())
    words = take()
    since_s = time.time()
    try:
        ground.wait_until(
            lambda: sum(mark.begin_s > since_s and mark.end_s is not None for mark in ground.orders.read_passes()) >= 2,
            20.0,
            "two passes without a disk",
        )
        failed = ground.server_log_since(size).count("the periodic hook failed and lets PBS go on")
    finally:
        ground.remount("rw")
        ground.empty_disk()
    if not failed:
        raise Missed(f"{words}; but no pass failed of it")
    return f"{words}; {failed} passes failed"


def _succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:  # noqa: BLE001 - whatever the mount said, it is tried again
        return False
    return True


# Time


@kind("clock set", 40)
def set_clock(ground: Ground, number: int, chance: random.Random) -> str:
    """Back and forth, for two or three passes; then it is right again."""
    offset_s = (-3600, -86400, 86400, 3600, -30, 30, -31 * 86400, 1e9)[number % 8]
    order = ground.orders.give("periodic", "clock", lasting=True, offset_s=offset_s)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    linger(ground, chance.uniform(1.0, 3.0))
    ground.orders.withdraw("periodic")
    return f"by {offset_s:+g} s when {hit.show()}"


# Two passes at once


@kind("second pass on the same folder", 20)
def second_pass(ground: Ground, _number: int, chance: random.Random) -> str:
    """It holds the lock at a step of its own, while the server's passes want it; then it goes on."""
    return _meet_second_pass(ground, chance, with_lock=True)


@kind("second pass, with the lock lost", 25)
def second_pass_without_lock(ground: Ground, _number: int, chance: random.Random) -> str:
    """The lock is removed while the second pass has it: both decide and act at the same time."""
    return _meet_second_pass(ground, chance, with_lock=False)


def _meet_second_pass(ground: Ground, chance: random.Random, *, with_lock: bool) -> str:
    size = len(ground.pbs.server_log())
    among = ["fsync", "replace", *STARTS, "pbs_alterjob", "pbs_statvnode"]
    order = ground.orders.give("second", "meet", at="step", among=among, nth=chance.randint(1, 6), at_most_s=8.0)
    process = _start_until_it_meets(ground, order)
    hit = ground.orders.find_hit(order)
    if hit is None:
        raise Missed("the second pass was gone")
    if with_lock:
        ground.wait_until(
            lambda: "another pass is writing here" in ground.server_log_since(size), 10.0, "a locked-out pass"
        )
    else:
        (ground.state_path / "lock").unlink(missing_ok=True)
        since_s = time.time()
        ended = lambda: any(m.begin_s > since_s and m.end_s is not None for m in ground.orders.read_passes())
        ground.wait_until(ended, 60.0, "a pass beside it")
    ground.orders.leave(order)
    process.wait(30.0)
    ground.orders.withdraw("second")
    return f"second {hit.show()} while the server's {'was locked out' if with_lock else 'went on beside it'}"


def _start_until_it_meets(ground: Ground, order: str) -> subprocess.Popen[bytes]:
    """Start second passes until one comes by the lock, which the server's own may have, to its meeting point."""
    for _ in range(20):
        process = ground.start_second_pass()
        while process.poll() is None:
            if ground.orders.find_hit(order):
                return process
            time.sleep(0.02)
    raise Missed("no second pass came by the lock")
