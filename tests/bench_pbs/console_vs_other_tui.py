"""The console beside a neighbour, one after the other on the same server: how soon it shows the cluster, what it costs.

Both run in a real terminal of one size and look at the same jobs at the same interval. Measured are the seconds from
the start to the first screen that tells the number of jobs, the CPU seconds of the console with all that it starts
(``qstat`` among it), and those of the server, less what the server needs while nobody looks.

The neighbour is a command that is given: it is none of the project's. ``{interval}`` in it becomes the seconds between
two looks, as in ``pbs-tui --refresh-interval {interval}``.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable, NamedTuple

from container.hosts.find_and_enter_running_host import find_host_process
from tests.bench_pbs.benchmark_result import Figure
from tests.bench_pbs.testbed import calling, job_attributes, open_site, script
from tests.pbs.cluster import PbsCluster
from tests.pbs.terminal import Terminal, open_terminal

INTERVAL_S = 10
_RUNNING = 100
_WINDOW_S = 60.0
_PATIENCE_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_ROOT = Path(__file__).parents[2]
_SERVER = "pbs_server.bin"
_READING_JOBS = ("19", "51")
"""PBS's numbers of the requests that read jobs: all of them by their status, and those that a selection finds."""
_REQUEST = re.compile(r";Type (\d+) request received")


class ServerCost(NamedTuple):
    """A minute of the server's: CPU seconds, requests to it, and how many of these asked for jobs."""

    cpu_s: float
    requests: int
    looks: int


class Cost(NamedTuple):
    """What one program cost: seconds until it showed the cluster; over the minute after that its own CPU seconds, and
    what it cost the server; the memory that it holds, in MiB."""

    first_s: float
    own_s: float
    server: ServerCost
    memory_mib: float


def measure(neighbour: str = "", jobs: int = 5000) -> list[Figure]:
    """The console, and the neighbour where there is one, on ``jobs`` jobs of which 100 run."""
    with open_site(moms=2, vnodes=50) as pbs:
        _fill(pbs, jobs)
        waiting = f"{jobs - _RUNNING:,}"
        idle = _server_cost(pbs)
        note = f"{jobs:,} jobs, a look each {INTERVAL_S} s"
        ours = [sys.executable, "-m", "tui.cli.main", "--interval", str(INTERVAL_S)]
        costs = {"console": _cost(pbs, ours, lambda shown: f"Q {waiting} " in shown)}
        if neighbour:
            words = [word.replace("{interval}", str(INTERVAL_S)) for word in shlex.split(neighbour)]
            total = re.compile(rf"\b({jobs}|{jobs:,})\b")
            costs[Path(words[0]).name] = _cost(pbs, words, lambda shown: total.search(shown) is not None)
    figures = [Figure("the server, nobody looking: CPU in a minute", idle.cpu_s, "s", note=f"{idle.requests} requests")]
    for name, cost in costs.items():
        looks, server = max(1, cost.server.looks), cost.server
        figures += [
            Figure(f"{name}: start to the first screen with all jobs", cost.first_s, "s", note=note),
            Figure(f"{name}: its own CPU for each look", cost.own_s / looks, "s", note=f"{looks} looks"),
            Figure(f"{name}: the server's CPU in a minute", server.cpu_s - idle.cpu_s, "s"),
            Figure(f"{name}: the server's CPU for each look", (server.cpu_s - idle.cpu_s) / looks, "s"),
            Figure(f"{name}: requests to the server in a minute", server.requests - idle.requests, ""),
            Figure(f"{name}: memory, with what it has started", cost.memory_mib, "MiB"),
        ]
    return figures


def _fill(pbs: PbsCluster, jobs: int) -> None:
    """So many jobs, of which one runs on each vnode; from then on nothing changes."""
    attributes = job_attributes("1:ncpus=8", "12:00:00")
    with calling(pbs, "alice") as caller:
        path = script(pbs, 36_000)
        caller.ask("submit", attributes=attributes, count=_RUNNING, script=path, queue="workq")
        caller.ask("watch", seconds=_PATIENCE_S, pause_s=0.5, until=_RUNNING)
        pbs.qmgr("set server scheduling = False")
        caller.ask("submit", attributes=attributes, count=jobs - _RUNNING, script=path, queue="workq")


def _cost(pbs: PbsCluster, argv: Sequence[str], is_full: Callable[[str], bool]) -> Cost:
    environment = [f"PYTHONPATH={_ROOT}", f"XDG_STATE_HOME={pbs.server_home}", "COLORTERM=truecolor"]
    begun_s = time.monotonic()
    with open_terminal(pbs, argv, cells=140, lines=45, environment=environment) as terminal:
        terminal.wait_until(is_full, "the number of jobs on the screen", _PATIENCE_S)
        first_s = time.monotonic() - begun_s
        # The first look is more than those after it.
        time.sleep(INTERVAL_S)
        own = _cpu_s(_below(terminal.first_process()))
        server = _server_cost(pbs)
        spent_s = _cpu_s(_below(terminal.first_process())) - own
        return Cost(first_s, spent_s, server, _memory_mib(terminal))


def _server_cost(pbs: PbsCluster) -> ServerCost:
    """What the server does from now on, for as long as is measured."""
    process = _server_process(pbs)
    before_s, before = _cpu_s([process]), len(_requests(pbs))
    time.sleep(_WINDOW_S)
    requests = _requests(pbs)[before:]
    return ServerCost(_cpu_s([process]) - before_s, len(requests), sum(map(requests.count, _READING_JOBS)))


def _server_process(pbs: PbsCluster) -> int:
    host = find_host_process(pbs.testbed.folder, pbs.spec.server)
    if host is None:
        raise RuntimeError("the server's host does not run")
    return next(pid for pid in _below(host) if _stat(pid)[0] == _SERVER[:15])


def _requests(pbs: PbsCluster) -> list[str]:
    """The kinds of all requests so far, by PBS's numbers."""
    return _REQUEST.findall(pbs.server_log())


def _memory_mib(terminal: Terminal) -> float:
    """What the processes hold that no other process does, and their part of what they share."""
    kib = 0
    for pid in _below(terminal.first_process()):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        kib += sum(int(amount) for amount in re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE))
    return kib / 1024


def _below(pid: int) -> Iterator[int]:
    """The process and all below it."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            children = Path(f"/proc/{one}/task").glob("*/children")
            waiting += [int(child) for file in children for child in file.read_text(encoding="ascii").split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield one


def _cpu_s(pids: Iterator[int] | Sequence[int]) -> float:
    """CPU seconds of the processes and of those that they have started and that are over."""
    ticks = 0
    for pid in pids:
        fields = _stat(pid)[1]
        ticks += sum(int(fields[at]) for at in (11, 12, 13, 14))
    return ticks / _TICKS


def _stat(pid: int) -> tuple[str, list[str]]:
    """A process's name (its first 15 characters), and the fields after it; see proc(5)."""
    before, _, after = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
    return before.partition("(")[2], after.split()
