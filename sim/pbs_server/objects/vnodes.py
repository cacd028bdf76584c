"""A simulated vnode: its resources, the jobs that hold them, and the state that PBS would show.

The sum of what jobs hold may exceed the vnode's resources, as on a real server: `pbs_runjob` checks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.job_request import Amounts
from policy.model.pbs_units import parse_amount
from sim.pbs_server.objects.attributes import split_key

_ALWAYS_SHOWN = {"accelerator_memory": 0, "hbmem": 0, "mem": 0, "naccelerators": 0, "ncpus": 0, "vmem": 0}
_SIZES = frozenset({"accelerator_memory", "hbmem", "mem", "vmem"})


def show_amount(resource: str, amount: int) -> str:
    """An amount of a consumable as PBS writes it; sizes are in KiB."""
    return f"{amount}kb" if resource in _SIZES else str(amount)


class SimVnode:
    """One vnode. `texts` has the attributes that are set, not those that follow from its jobs; `offline` is set by
    managers, `down_since_s` when its MoM stops answering.
    """

    def __init__(self, name: str, texts: Mapping[str, str], now_s: float) -> None:
        self.name = name
        self.texts = dict(texts)
        self.offline = False
        self.down_since_s: float | None = None
        self.assigned: dict[str, int] = dict(_ALWAYS_SHOWN)
        self.jobs: dict[str, int] = {}
        self._available = _read_amounts(self.texts)
        self._exclusive: set[str] = set()
        self._shown: dict[str, str] | None = None
        self._changed_s = now_s
        self._used_s: float | None = None
        self._state = self._work_out_state()

    @property
    def down(self) -> bool:
        """Whether the vnode's MoM does not answer."""
        return self.down_since_s is not None

    @property
    def state(self) -> str:
        """PBS's state; several are separated by commas, in the order of PBS's bits."""
        return self._state

    def free(self) -> dict[str, int]:
        """What is left of each of its amounts; negative where it is overcommitted."""
        return {resource: amount - self.assigned.get(resource, 0) for resource, amount in self._available.items()}

    def _work_out_state(self) -> str:
        states = ["offline"] if self.offline else []
        states += ["down"] if self.down else []
        if self._exclusive:
            states.append("job-exclusive")
        elif self.jobs and self.assigned["ncpus"] >= self._available.get("ncpus", 0):
            states.append("job-busy")
        return ",".join(states) or "free"

    def assign(self, job_id: str, amounts: Amounts, chunks: int, exclusive: bool, now_s: float) -> None:
        """Assign `chunks` times `amounts` to a job, on top of what it holds here already."""
        for resource, amount in amounts:
            self.assigned[resource] = self.assigned.get(resource, 0) + amount * chunks
        self.jobs[job_id] = self.jobs.get(job_id, 0) + chunks * dict(amounts).get("ncpus", 0)
        if exclusive:
            self._exclusive.add(job_id)
        self.touch(now_s)

    def release(self, job_id: str, amounts: Amounts, chunks: int, now_s: float) -> None:
        """Free what :meth:`assign` assigned."""
        for resource, amount in amounts:
            self.assigned[resource] -= amount * chunks
        self.jobs.pop(job_id, None)
        self._exclusive.discard(job_id)
        self._used_s = now_s
        self.touch(now_s)

    def change(self, texts: Mapping[str, str], offline: bool, now_s: float) -> None:
        """Replace the attributes."""
        self.texts, self.offline = dict(texts), offline
        self._available = _read_amounts(self.texts)
        self.touch(now_s)

    def touch(self, now_s: float) -> None:
        """Recompute what follows from a change of the vnode."""
        self._shown = None
        state = self._work_out_state()
        if state != self._state:
            self._state, self._changed_s = state, now_s

    def attributes(self) -> dict[str, str]:
        """All attributes as texts; the same object until something changes, and not to be modified."""
        if self._shown is None:
            shown = {**self.texts, "state": self._state}
            if self.jobs:
                shown["jobs"] = self._show_jobs()
            for resource, amount in self.assigned.items():
                shown[f"resources_assigned.{resource}"] = show_amount(resource, amount)
            shown["last_state_change_time"] = str(int(self._changed_s))
            if self._used_s is not None:
                shown["last_used_time"] = str(int(self._used_s))
            self._shown = shown
        return self._shown

    def _show_jobs(self) -> str:
        """Each core of a job as `12.server/0`: PBS numbers them, and repeats the last number where there are too
        many.
        """
        last = max(self._available.get("ncpus", 1) - 1, 0)
        cores = [job_id for job_id, count in self.jobs.items() for _ in range(max(count, 1))]
        return ", ".join(f"{job_id}/{min(number, last)}" for number, job_id in enumerate(cores))


def _read_amounts(texts: Mapping[str, str]) -> dict[str, int]:
    amounts = {}
    for key, text in texts.items():
        kind, resource = split_key(key)
        amount = parse_amount(text) if kind == "resources_available" else None
        if amount is not None:
            amounts[resource] = amount
    return amounts
