"""How much of what a job holds it uses: the shares of its cores' time, memory and GPUs, from ``resources_used``.

The share of cores is a mean since the job's start: CPU time over cores times wall time. PBS itself counts no time of
GPUs; where a site's own hook sets ``resources_used.gpupercent`` (100 for one GPU that is wholly busy, as in
``cpupercent``), their share is shown too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tui.model.typed_attributes import Attributes, amount, moment, seconds

LOW = 0.25
"""A job that uses less of its cores than this is shown as idle."""
SETTLED_S = 1800.0
"""A job that has run for less may still be reading its input: it is not called idle."""
NAMES = ("cput", "walltime", "mem", "gpupercent")
"""The parts of ``resources_used`` that shares are made of."""


class Shares(NamedTuple):
    """The parts of its cores' time, memory and GPUs that a job uses, 0 to 1 or a little more; None without figures.
    ``idle_cores`` is the cores that were idle in the mean."""

    cpu: float | None = None
    memory: float | None = None
    gpu: float | None = None
    idle_cores: float = 0.0
    ran_s: float = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether the job has run for long enough, and uses little of its cores."""
        return self.cpu is not None and self.cpu < LOW and self.ran_s >= SETTLED_S


def shares_of(attributes: Attributes, used: Attributes) -> Shares:
    """The shares of one job or subjob; ``used`` has its ``resources_used``."""
    cores, gpus = amount(attributes, "Resource_List.ncpus"), amount(attributes, "Resource_List.ngpus")
    cpu_s, ran_s = seconds(used, "resources_used.cput"), seconds(used, "resources_used.walltime")
    memory, asked = amount(used, "resources_used.mem"), amount(attributes, "Resource_List.mem")
    percent = used.get("resources_used.gpupercent", "")
    cpu = cpu_s / (cores * ran_s) if cores and ran_s and cpu_s is not None else None
    return Shares(
        cpu,
        memory / asked if asked and memory else None,
        amount(used, "resources_used.gpupercent") / (100 * gpus) if gpus and percent else None,
        max(0.0, cores * (1 - cpu)) if cpu is not None else 0.0,
        ran_s or 0.0,
    )


_GRACE_S = 600.0
"""PBS ends a job at its walltime, after some grace of the MoM; what still runs this much later was not ended."""


def is_overdue(attributes: Attributes, used: Attributes) -> bool:
    """Whether a running job has run for longer than its walltime, by the MoM's own count, which leaves out the time
    that it was suspended."""
    asked_s, ran_s = seconds(attributes, "Resource_List.walltime"), seconds(used, "resources_used.walltime")
    return asked_s is not None and ran_s is not None and ran_s > asked_s + _GRACE_S


def ends_for_long(attributes: Attributes, now_s: float) -> bool:
    """Whether a job is still ending (state E) long after its walltime is over: its output, or the files that it stages
    out, have not come to an end. It keeps its cores, and no request to preempt it reaches it."""
    if attributes.get("job_state") != "E":
        return False
    asked_s, start_s = seconds(attributes, "Resource_List.walltime"), moment(attributes, "stime")
    return asked_s is not None and start_s is not None and now_s > start_s + asked_s + _GRACE_S


def mean_share(jobs: Iterable[tuple[Attributes, Attributes]]) -> float | None:
    """The share of cores that several jobs use together, each weighted by its cores; None without figures."""
    busy = held = 0.0
    for attributes, used in jobs:
        cpu, cores = shares_of(attributes, used).cpu, amount(attributes, "Resource_List.ncpus")
        if cpu is not None:
            busy, held = busy + cpu * cores, held + cores
    return busy / held if held else None
