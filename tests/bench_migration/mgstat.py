"""CPU seconds of the program mgstat with 10,000 requests: one user's jobs, everyone's, one, as JSON, the clusters."""

from __future__ import annotations

import os
import pwd
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from migration.passes.source.source_pass import source_pass
from migration.programs.program_search_path import own_program
from tests.bench_migration.source_with_recorded_answers import (
    REQUESTS,
    RecordedClusters,
    make_answers,
    open_recorded,
    put_site,
)
from tests.bench_pbs.benchmark_result import Figure

_MOST_S = 1.0
_KINDS = (
    ("one user's", ()),
    ("everyone's", ("-a", "-u", "all")),
    ("one job", ("a.5000",)),
    ("everyone's as JSON", ("-u", "all", "--json")),
    ("the clusters", ("--queues",)),
)


def measure(_: Sequence[str]) -> Iterator[Figure]:
    """Each way of asking, after one pass, with the interpreter's start."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        put_site(home, pwd.getpwuid(os.getuid()).pw_name)
        source_pass(open_recorded(home, RecordedClusters(make_answers(free=False))))
        for what, words in _KINDS:
            before_s = _children_s()
            done = subprocess.run(
                [own_program("mgstat"), *words], env={**os.environ, "MG_HOME": folder}, capture_output=True, check=False
            )
            cpu_s = _children_s() - before_s
            if done.returncode not in (0, 3):
                raise RuntimeError(f"mgstat {' '.join(words)}: {done.stderr.decode()}")
            lines = done.stdout.count(b"\n")
            yield Figure(f"mgstat, {REQUESTS:,} requests: {what}", cpu_s, "s", _MOST_S, f"{lines:,} lines")


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
