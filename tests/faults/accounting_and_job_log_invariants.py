"""What must hold whatever happens, read from what cannot be mistaken: PBS's accounting, and the programs' own diaries.

The accounting log is in the order in which the server did things, so holding and letting go of cores is replayed from
it line by line, and no moment is missed between two looks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from policy.model.allocation import Allocation, parse_exec_vnode

_FIELD = re.compile(r"(\S+?)=(\S+)")
_SUBJOB = re.compile(r"\[[0-9]+\]")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")


class Life(NamedTuple):
    """One job, or one subjob, by the accounting log; ``ended`` is its exit status."""

    user: str
    running: Allocation | None = None
    ended: int | None = None
    starts: int = 0
    reruns: int = 0
    start_s: float = 0.0


class Crowd(NamedTuple):
    """A vnode with more cores in use than it has, by the accounting log: the cores of each job that held it when
    ``line`` was written, and when the run had begun in which it did."""

    vnode: str
    jobs: Mapping[str, int]
    starts_s: Mapping[str, float]
    line: str


class Books:
    """The accounting log of a server, read on as it grows. ``violations`` has every sentence about what must not be.

    ``crowds`` are to be looked into: a server whose MoM had lost a job goes on calling that running, though neither the
    MoM runs it nor the server counts its cores (OpenPBS 23.06), until somebody requeues it.
    """

    def __init__(self, accounting: Path, cores: Mapping[str, int]) -> None:
        self.violations: list[str] = []
        self.crowds: list[Crowd] = []
        self.lives: dict[str, Life] = {}
        self.arrays: dict[str, tuple[str, ...]] = {}
        self.deleted: set[str] = set()
        self.excused: set[str] = set()
        """Jobs that were ending when somebody deleted them, which PBS refused or forgot: both ways are right."""
        self._accounting = accounting
        self._cores = cores
        self._used = dict.fromkeys(cores, 0)
        self._read_bytes: dict[Path, int] = {}

    def expect(self, job_id: str, user: str, subjobs: tuple[int, ...] = ()) -> None:
        """A job that qsub has taken: from now on it must come to its end."""
        if subjobs:
            self.arrays[job_id] = tuple(job_id.replace("[]", f"[{index}]") for index in subjobs)
            for subjob in self.arrays[job_id]:
                self.lives.setdefault(subjob, Life(user))
        else:
            self.lives.setdefault(job_id, Life(user))

    def expect_deletion(self, job_id: str) -> None:
        """A job that somebody has just deleted, and the server took it: it ends as it will, and does not come back."""
        self.read()
        self.deleted.add(job_id)
        if self.lives[job_id].running is None:
            self.lives[job_id] = self.lives[job_id]._replace(ended=self.lives[job_id].ended or 0)

    def settle(self, job_id: str) -> None:
        """A job that has done its work and was deleted by force, since PBS had forgotten its end."""
        self.excused.add(job_id)
        life = self.lives[job_id]
        if life.running is not None:
            self._count(life.running, -1)
        self.lives[job_id] = life._replace(running=None, ended=0)

    def read(self) -> None:
        """Read what was added since."""
        for path in sorted(self._accounting.iterdir()):
            with path.open("rb") as log:
                log.seek(self._read_bytes.get(path, 0))
                text = log.read()
            text = text[: text.rfind(b"\n") + 1]
            self._read_bytes[path] = self._read_bytes.get(path, 0) + len(text)
            for line in text.decode("utf-8", "replace").splitlines():
                self._enter(line)

    def unfinished(self, user: str = "") -> list[str]:
        """The jobs that have not ended, all or one user's."""
        return [job for job, life in self.lives.items() if life.ended is None and user in ("", life.user)]

    def tell(self, jobs: Collection[str]) -> str:
        """What the log has of these jobs: kind and time of each record."""
        records = [line.split(";")[:3] for path in sorted(self._accounting.iterdir()) for line in _lines_of(path)]
        told = [
            f"{record[2].partition('.')[0]} {record[1]} {record[0][11:]}" for record in records if record[2] in jobs
        ]
        return ", ".join(told)

    def _enter(self, line: str) -> None:
        _, kind, job_id, rest = line.split(";", 3)
        fields = dict(_FIELD.findall(rest))
        if kind == "Q" and "[]" not in job_id:
            self.lives.setdefault(job_id, Life(fields.get("user", "")))
        if "[]" in job_id or kind not in "SRE" or job_id not in self.lives:
            if kind in "SRE" and _SUBJOB.search(job_id):
                self.lives[job_id] = Life(fields.get("user", ""))
            else:
                return
        life = self.lives[job_id]
        if kind == "S":
            self._start(job_id, life, parse_exec_vnode(fields["exec_vnode"]), line)
            return
        if life.running is not None:
            self._count(life.running, -1)
        if kind == "E":
            # A server that was killed just after it wrote an end writes it once more when the MoM tells of it again.
            self.lives[job_id] = life._replace(running=None, ended=int(fields["Exit_status"]))
        else:
            self.lives[job_id] = life._replace(running=None, reruns=life.reruns + 1)

    def _start(self, job_id: str, life: Life, allocation: Allocation, line: str) -> None:
        if job_id in self.deleted and life.running is None:
            self.violations.append(f"{job_id} was started after it was deleted: {line}")
            return
        if life.ended is not None:
            self.violations.append(f"{job_id} was started after its end: {line}")
        if life.running is not None:
            # A server that was away writes the start of what runs once more when the MoM tells of it.
            if life.running != allocation:
                self.violations.append(f"{job_id} was started while it ran elsewhere: {line}")
            return
        self._count(allocation, 1)
        self.lives[job_id] = life._replace(running=allocation, starts=life.starts + 1, start_s=time_of(line))
        for vnode in allocation.vnodes:
            if self._used[vnode] > self._cores[vnode]:
                jobs = dict(self._holders(vnode))
                self.crowds.append(Crowd(vnode, jobs, {job: self.lives[job].start_s for job in jobs}, line))

    def _holders(self, vnode: str) -> Iterator[tuple[str, int]]:
        for job_id, life in self.lives.items():
            spots = life.running.spots if life.running is not None else ()
            cores = sum(spot.chunks * dict(spot.amounts).get("ncpus", 0) for spot in spots if spot.vnode == vnode)
            if cores:
                yield job_id, cores

    def _count(self, allocation: Allocation, sign: int) -> None:
        for spot in allocation.spots:
            self._used[spot.vnode] += sign * spot.chunks * dict(spot.amounts).get("ncpus", 0)


def time_of(line: str) -> float:
    """When a record was written, in seconds since 1970; the log has whole ones."""
    return time.mktime(time.strptime(line.partition(";")[0], "%m/%d/%Y %H:%M:%S"))


def _lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.count(";") >= 3]


class Spell(NamedTuple):
    """One run of a program by its diary: from its first line to its last, and how far it had counted then."""

    job: str
    host: str
    begin_s: float
    end_s: float
    counted: int
    is_whole: bool


def read_spells(diaries: Path, jobs: Collection[str] = ()) -> Iterator[Spell]:
    """All runs of all programs, or of these jobs' alone."""
    for folder in [diaries / job for job in jobs] or diaries.iterdir():
        log = folder / "log"
        if not log.is_file():
            continue
        # A program that was killed as it wrote leaves a line cut short.
        lines = [words for words in map(str.split, log.read_text(encoding="utf-8").splitlines()) if len(words) >= 4]
        runs: dict[tuple[str, str], list[list[str]]] = {}
        turn = 0
        for line in lines:
            turn += line[0] == "begin"
            runs.setdefault((line[2], f"{line[3]} {turn}"), []).append(line)
        for (host, _), run in runs.items():
            times = [float(line[1]) for line in run]
            numbers = [int(line[0]) for line in run if line[0].isdigit()]
            yield Spell(folder.name, host, times[0], times[-1], max(numbers, default=0), run[-1][0] == "done")


def find_losses(
    lives: Mapping[str, Life],
    counts: Mapping[str, int],
    spells: list[Spell],
    aliens: Collection[str] = (),
    deleted: Collection[str] = (),
) -> list[str]:
    """At the end of all: jobs that did not end, ended badly, or whose program did not do its work, a sentence each.

    ``counts``: what each job's program was to count to; ``aliens`` keep no diary; those that were ``deleted`` have to
    end, however that is.
    """
    done: dict[str, list[Spell]] = {}
    for spell in spells:
        if spell.is_whole:
            done.setdefault(spell.job, []).append(spell)
    losses = []
    for job, life in lives.items():
        if life.ended is None:
            losses.append(f"{job} of {life.user} has not ended")
        elif job in deleted:
            continue
        elif life.ended != 0:
            losses.append(f"{job} of {life.user} ended with status {life.ended}")
        elif job not in done and job not in aliens:
            losses.append(f"{job} of {life.user} ended, but its program did not come to its end")
        elif job in counts and job in done and not any(spell.counted == counts[job] for spell in done[job]):
            losses.append(f"{job} of {life.user} counted to {done[job][-1].counted}, not to {counts[job]}")
    return losses


def find_overlaps(spells: list[Spell], sizes: Mapping[str, int], cores: Mapping[str, int]) -> list[str]:
    """By the programs' own times: jobs that ran twice at once, and hosts with more cores in use than they have."""
    found = []
    by_job: dict[str, list[Spell]] = {}
    moments: list[tuple[float, int, Spell]] = []
    for spell in spells:
        by_job.setdefault(spell.job, []).append(spell)
        moments += [(spell.begin_s, 1, spell), (spell.end_s, -1, spell)]
    for job, runs in by_job.items():
        runs.sort(key=lambda run: run.begin_s)
        for earlier, later in zip(runs, runs[1:]):
            if later.begin_s < earlier.end_s:
                found.append(f"{job} ran twice at once, on {earlier.host} and {later.host}")
    used = dict.fromkeys(cores, 0)
    for _, sign, spell in sorted(moments, key=lambda moment: (moment[0], moment[1])):
        used[spell.host] += sign * sizes.get(spell.job, 0)
        if used[spell.host] > cores[spell.host]:
            found.append(f"{spell.host} had {used[spell.host]} cores in use, of {cores[spell.host]}, with {spell.job}")
    return found
