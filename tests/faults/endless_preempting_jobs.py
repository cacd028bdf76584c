"""Jobs without end: real programs that count, of four users whose quotas make them preempt each other in most passes.

Alice is always over her quota, on cores that the others want back within theirs; bob's jobs come one after the other
and preempt hers; carol's have two chunks, dave's are arrays.
"""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from policy.settings.site_settings import CheckpointSettings
from tests.faults.accounting_and_job_log_invariants import Books, find_losses, find_overlaps, read_spells
from tests.faults.find_ended_jobs_run_again import count_run_again, find_needless
from tests.pbs.cluster import PbsCluster

_PROGRAM = Path(__file__).with_name("program.sh")
_TOP_UP_S = 0.8
_UNTIL_IT_WRITES_S = 4.0
_BETWEEN_LINES_S = 1.5


class Shape(NamedTuple):
    """What a user's jobs look like, and how many of them there are at a time. ``saves`` says what their programs do
    when they are asked to save (program.sh), ``wish`` how they wish to be asked."""

    user: str
    at_a_time: int
    chunks: int
    cores: tuple[int, ...]
    counts: tuple[int, ...]
    subjobs: int = 0
    saves: tuple[str, ...] = ("nothing",)
    wish: str = "signal"
    walltime: str = "00:01:00"


SHAPES = (
    Shape("alice", 6, 1, (4, 6, 8), (3, 4, 5), saves=("exit", "stay", "nothing")),
    Shape("bob", 2, 1, (4, 8), (1, 2)),
    Shape("carol", 1, 2, (2, 4), (2,)),
    Shape("dave", 2, 1, (1, 2), (1, 2), subjobs=2),
)


class Workload:
    """Keeps jobs coming as long as :meth:`top_up` is called."""

    def __init__(self, pbs: PbsCluster, books: Books, folder: Path, seed: str) -> None:
        self.counts: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.run_again = 0
        """At the end: the jobs whose program did all of its work more than once, with need or without."""
        self._pbs = pbs
        self._books = books
        self._random = random.Random(f"{seed}/workload")
        self._diaries = folder / "diaries"
        self._diaries.mkdir()
        self._diaries.chmod(0o1777)
        self._program = folder / "program.sh"
        self._program.write_text(_PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
        self._program.chmod(0o755)
        self._last_s = 0.0
        self._twice = 0
        self._aliens: set[str] = set()

    def top_up(self) -> None:
        """Submit what is missing, not more often than every second or so. A server that is away gets no jobs."""
        if time.monotonic() - self._last_s < _TOP_UP_S:
            return
        self._last_s = time.monotonic()
        self._books.read()
        for shape in SHAPES:
            missing = shape.at_a_time - len(self._books.unfinished(shape.user)) // max(1, shape.subjobs)
            if missing > 0:
                self.submit(shape, missing)

    def submit(self, shape: Shape, number: int) -> list[str]:
        """Submit jobs of a shape; returns those that the server took."""
        asked = [(self._random.choice(shape.cores), self._random.choice(shape.counts)) for _ in range(number)]
        lines = []
        for cores, count in asked:
            words = ["qsub", "-f", "-N", "counts", "-o", "/dev/null", "-e", "/dev/null"]
            words += ["-l", f"select={shape.chunks}:ncpus={cores}", "-l", f"walltime={shape.walltime}"]
            words += ["-J", f"1-{shape.subjobs}"] if shape.subjobs else []
            saves = self._random.choice(shape.saves)
            words += ["-l", f"pbsteer_save={shape.wish}"] if saves != "nothing" else []
            words += ["--", str(self._program), str(self._diaries), str(count), saves]
            lines.append(f"{shlex.join(words)} || echo refused\n")
        done = self._pbs.run(["sh"], user=shape.user, stdin="".join(lines))
        taken = []
        for (cores, count), said in zip(asked, done.stdout.splitlines()):
            if said == "refused":
                continue
            self._books.expect(said, shape.user, tuple(range(1, shape.subjobs + 1)))
            for job_id in self._books.arrays.get(said, (said,)):
                self.counts[job_id], self.sizes[job_id] = count, cores
                taken.append(job_id)
        return taken

    def submit_alien(self, user: str, options: Sequence[str] = ()) -> str:
        """Submit a job of its own kind, which keeps no diary. Raises :class:`TestbedError` where PBS refuses it."""
        words = ["qsub", "-f", "-N", "short", "-o", "/dev/null", "-e", "/dev/null", "-l", "walltime=00:01:00", *options]
        job_id = self._pbs.run([*words, "--", "/bin/true"], user=user).demand_success().stdout.strip()
        self._aliens.add(job_id)
        self._books.expect(job_id, user)
        return job_id

    def read_twice(self) -> list[str]:
        """What programs said that found another one of their own job alive, since the last time."""
        try:
            lines = (self._diaries / "twice").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        fresh = lines[self._twice :]
        self._twice = len(lines)
        return [f"a job's program ran beside another one of it: {line}" for line in fresh]

    def find_alive(self, starts_s: Mapping[str, float], time_s: float) -> set[str]:
        """Those of these jobs, each with the start of its run then, whose programs were alive at that time, or may have
        been, as they had just been started."""
        found = {job for job, start_s in starts_s.items() if time_s - start_s <= _UNTIL_IT_WRITES_S}
        for spell in read_spells(self._diaries, starts_s):
            last_s = spell.end_s if spell.is_whole else spell.end_s + _BETWEEN_LINES_S
            if spell.begin_s - 1.0 <= time_s <= last_s:
                found.add(spell.job)
        return found

    def has_done_its_work(self, job: str, until_s: float) -> bool:
        """Whether the job's last program came to its end before ``until_s``."""
        spells = list(read_spells(self._diaries, [job]))
        last = max(spells, key=lambda spell: spell.begin_s, default=None)
        return last is not None and last.is_whole and last.end_s < until_s

    def find_losses(self) -> list[str]:
        """At the end: every job that has not ended once with its work done, and every overlap of the programs."""
        spells = list(read_spells(self._diaries))
        cores = dict.fromkeys(self._pbs.mom_names, self._pbs.spec.cores)
        excused = self._books.deleted | self._books.excused
        homes = [self._pbs.testbed.pbs_home(host) for host in self._pbs.spec.mom_hosts]
        logs = [log for home in homes for log in sorted((home / "mom_logs").iterdir())]
        self.run_again = count_run_again(spells)
        needless = find_needless(logs, spells, CheckpointSettings().exit_status)
        return (
            needless
            + find_losses(self._books.lives, self.counts, spells, self._aliens, excused)
            + find_overlaps(spells, self.sizes, cores)
        )
