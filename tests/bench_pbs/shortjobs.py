"""Jobs that end at once, until the last one has ended: an array of them and single ones, by pbs_sched and by passes.

Both are measured in one run on one testbed, with the hooks in: pbs_sched starts the jobs while they are in ``observe``,
the passes in ``drive``, at their default interval. What the machine does besides falls on both alike, and
by turns.
"""

from __future__ import annotations

import time
from typing import Callable

from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, without_hooks
from tests.hooks.deploy_on_testbed import deploy, last_pass, set_mode
from tests.pbs.cluster import PbsCluster

SUBJOBS, SINGLES = 2000, 1000
ROUNDS = 4
_AT_MOST_ARRAY, _AT_MOST_SINGLES = 1.0, 1.5
_LONGEST_S = 1800
_OBSERVE, _DRIVE = "observe", "drive"
_SCRIPT = "#!/bin/sh\n/bin/true\n"


def measure(rounds: int = ROUNDS, subjobs: int = SUBJOBS, singles: int = SINGLES) -> list[Figure]:
    """Medians of the seconds from the first submission to the last end, and drive's by pbs_sched's."""
    array: dict[str, list[float]] = {_OBSERVE: [], _DRIVE: []}
    single: dict[str, list[float]] = {_OBSERVE: [], _DRIVE: []}
    with open_site() as pbs, calling(pbs, "alice") as caller, without_hooks(pbs):
        deploy(pbs, Settings())
        path = pbs.testbed.folder / "true.sh"
        path.write_text(_SCRIPT)
        path.chmod(0o755)
        for round_ in range(rounds):
            # The server gets slower with each job that it remembers, so each mode is first in every other round.
            for mode in (_OBSERVE, _DRIVE) if round_ % 2 else (_DRIVE, _OBSERVE):
                _set_mode(pbs, mode)
                array[mode].append(_time(caller, lambda: _submit(caller, 1, str(path), f"1-{subjobs}")))
                single[mode].append(_time(caller, lambda: _submit(caller, singles, str(path))))
    cores = pbs.spec.moms * pbs.spec.vnodes * pbs.spec.cores
    note = f"on {cores} cores, median of {rounds} rounds"
    return [
        *_compare(f"array of {subjobs:,} that end at once", array, _AT_MOST_ARRAY, note),
        *_compare(f"{singles:,} jobs that end at once", single, _AT_MOST_SINGLES, note),
    ]


def _compare(what: str, seconds: dict[str, list[float]], at_most: float, note: str) -> list[Figure]:
    theirs, ours = median(seconds[_OBSERVE]), median(seconds[_DRIVE])
    rounds = {mode: f"{note}: {' '.join(f'{value:.1f}' for value in values)}" for mode, values in seconds.items()}
    return [
        Figure(f"{what}, pbs_sched with the hooks in observe", theirs, "s", note=rounds[_OBSERVE]),
        Figure(f"{what}, drive", ours, "s", note=rounds[_DRIVE]),
        Figure(f"{what}, drive's time by pbs_sched's", ours / theirs, "", at_most),
    ]


def _set_mode(pbs: PbsCluster, mode: str) -> None:
    set_mode(pbs, mode)
    wanted = ["workq"] if mode == _DRIVE else []
    seen_s = last_pass(pbs).get("time_s", 0.0)
    pbs.wait_until(
        lambda: last_pass(pbs).get("time_s", 0.0) > seen_s and last_pass(pbs).get("acted") == wanted,
        120.0,
        f"a pass in {mode}",
    )


def _submit(caller: Caller, count: int, path: str, indices: str = "") -> None:
    more = [("array_indices_submitted", None, indices)] if indices else []
    attributes = job_attributes("1:ncpus=1", "00:10:00", more)
    caller.ask("submit", attributes=attributes, count=count, script=path, queue="workq")


def _time(caller: Caller, submit: Callable[[], None]) -> float:
    begun = time.perf_counter()
    submit()
    if not caller.ask("wait_for_ends", seconds=_LONGEST_S, pause_s=0.2)["ended"]:
        raise RuntimeError(f"jobs that end at once had not all ended after {_LONGEST_S} s")
    return time.perf_counter() - begun
