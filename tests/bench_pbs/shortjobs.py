"""Jobs that end at once, until the last one has ended: an array of them and single ones, by pbs_sched and by passes.

All are measured in one run on one testbed: pbs_sched without hooks and beside those in ``observe``, and passes in
``drive`` at their default interval. What the machine does besides falls on all alike, and by turns.
"""

from __future__ import annotations

import time
from typing import Callable

from policy.settings.settings_of_server_and_passes import ALWAYS, NEEDED, ServerSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, without_hooks
from tests.hooks.deploy_on_testbed import deploy, last_pass, set_mode
from tests.pbs.cluster import PbsCluster

SUBJOBS, SINGLES = 2000, 1000
ROUNDS = 2
_AT_MOST_ARRAY, _AT_MOST_SINGLES = 1.0, 1.5
_LONGEST_S = 1800
_PLAIN, _OBSERVE, _DRIVE = "pbs_sched", "pbs_sched beside the hooks in observe", "drive"
_GUARDED = "drive, each start checked by the hook"
_ALL = (_PLAIN, _OBSERVE, _DRIVE, _GUARDED)
_SCRIPT = "#!/bin/sh\n/bin/true\n"


def measure(rounds: int = ROUNDS, subjobs: int = SUBJOBS, singles: int = SINGLES) -> list[Figure]:
    """Medians of the seconds from the first submission to the last end, and drive's by pbs_sched's without hooks."""
    array: dict[str, list[float]] = {who: [] for who in _ALL}
    single: dict[str, list[float]] = {who: [] for who in _ALL}
    with open_site() as pbs, calling(pbs, "alice") as caller:
        path = pbs.testbed.folder / "true.sh"
        path.write_text(_SCRIPT)
        path.chmod(0o755)
        for round_ in range(rounds):
            # The server gets slower with each job that it remembers, so the order turns around with each round.
            for who in _ALL[:: -1 if round_ % 2 else 1]:
                with without_hooks(pbs):
                    _prepare(pbs, who)
                    array[who].append(_time(caller, lambda: _submit(caller, 1, str(path), f"1-{subjobs}")))
                    single[who].append(_time(caller, lambda: _submit(caller, singles, str(path))))
    note = f"on {pbs.spec.moms * pbs.spec.vnodes * pbs.spec.cores} cores, median of {rounds} rounds"
    return [
        *_compare(f"array of {subjobs:,} that end at once", array, _AT_MOST_ARRAY, note),
        *_compare(f"{singles:,} jobs that end at once", single, _AT_MOST_SINGLES, note),
    ]


def _compare(what: str, seconds: dict[str, list[float]], at_most: float, note: str) -> list[Figure]:
    rounds = {who: f"{note}: {' '.join(f'{value:.1f}' for value in values)}" for who, values in seconds.items()}
    times = [Figure(f"{what}, {who}", median(values), "s", note=rounds[who]) for who, values in seconds.items()]
    theirs = median(seconds[_PLAIN])
    ratios = [
        Figure(f"{what}, {who}: time by pbs_sched's", median(seconds[who]) / theirs, "", at_most if ours else None)
        for who, ours in ((_OBSERVE, False), (_DRIVE, True), (_GUARDED, True))
    ]
    return [*times, *ratios]


def _prepare(pbs: PbsCluster, who: str) -> None:
    """Have jobs started so; returns once a pass has."""
    if who == _PLAIN:
        return
    deploy(pbs, Settings(server=ServerSettings(guard_starts=ALWAYS if who == _GUARDED else NEEDED)))
    mode, wanted = ("observe", []) if who == _OBSERVE else ("drive", ["workq"])
    set_mode(pbs, mode)
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
