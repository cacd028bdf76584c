"""A job is submitted: refuse what can never run, and in ``advise`` give PBS's scheduler the shorter estimate.

Everything in the server waits for this, so it reads one file and walks nothing. In ``observe``, and before the first
pass has told the modes, it does nothing at all. Doing it twice changes nothing more.
"""

from __future__ import annotations

from typing import Any

from hooks.config import read_config
from hooks.resources import WISHES
from hooks.submission import find_impossible, find_nonsense, shrink_estimate
from hooks.summary import read_summary

_ASKED = (
    "select", "ncpus", "mem", "vmem", "ngpus", "naccelerators",
    "walltime", "soft_walltime", "min_walltime", "max_walltime", *WISHES,
)  # fmt: skip


def handle(pbs: Any) -> str | None:
    """Judge the submission of this event."""
    job = pbs.event().job
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    queue = (str(job.queue) if job.queue else "") or summary.default_queue
    mode = summary.mode(queue)
    if mode == "observe":
        return None
    asked = _read_asked(job.Resource_List)
    refusal = find_impossible(asked, queue, summary.queues[queue], summary.consumables) or find_nonsense(asked)
    if refusal:
        return refusal
    if mode == "advise":
        settings = read_config(pbs.hook_config_filename)
        estimate_s = shrink_estimate(asked, str(pbs.event().requestor), summary.past, settings)
        if estimate_s is not None:
            job.Resource_List["soft_walltime"] = pbs.duration(estimate_s)
    return None


def _read_asked(resources: Any) -> dict[str, str]:
    """What the job asks for, as texts; PBS applies its defaults only later, so anything may be missing."""
    asked = {}
    for name in _ASKED:
        try:
            value = resources[name]
        except Exception:  # noqa: BLE001, S112 - how PBS says that it does not know a resource differs by version
            continue
        if value is not None and str(value):
            asked[name] = str(value)
    return asked
