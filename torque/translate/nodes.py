"""A Torque node as a vnode: its slots (``np``) are ``ncpus``, its properties boolean resources, its note the comment.

Memory is left out of ``resources_available``: pbs_server counts slots only, and jobs are not placed by memory.
"""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import Attributes
from torque.translate.exec_host_as_exec_vnode import read_jobs_of_node
from torque.translate.node_request_as_select import PROPERTY

Texts = dict[str, str]

_SHOWN = ("opsys", "physmem", "totmem", "availmem", "loadave", "ncpus", "netload", "idletime", "version", "message")
"""What is kept of the MoM's own report, under ``status.NAME``. The rest changes each time and says nothing more."""
_CHANGES_OFTEN = frozenset({"availmem", "netload", "idletime", "loadave"})


def read_node(name: str, texts: Attributes, *, measured: bool = False) -> Texts:
    """The vnode of a node; with ``measured`` also what changes with each report of its MoM."""
    slots = texts.get("np", "0")
    jobs = read_jobs_of_node(texts.get("jobs", ""))
    used = sum(jobs.values())
    found: Texts = {
        "state": _state(texts.get("state", ""), full=0 < _whole(slots) <= used),
        "resources_available.host": name,
        "resources_available.vnode": name,
        "resources_available.ncpus": slots,
        "resources_assigned.ncpus": str(used),
    }
    if _whole(texts.get("gpus", "0")):
        found["resources_available.ngpus"] = texts["gpus"]
    for each in filter(None, (part.strip() for part in texts.get("properties", "").split(","))):
        found[f"resources_available.{PROPERTY}{each}"] = "True"
    if jobs:
        found["jobs"] = ", ".join(f"{job_id}/{slot}" for job_id, count in jobs.items() for slot in range(count))
    if texts.get("note"):
        found["comment"] = texts["note"]
    for key in ("ntype", "power_state", "properties"):
        if texts.get(key):
            found[key] = texts[key]
    reported = read_report(texts.get("status", ""))
    found.update(
        {
            f"status.{key}": reported[key]
            for key in _SHOWN
            if key in reported and (measured or key not in _CHANGES_OFTEN)
        }
    )
    return found


def read_report(text: str) -> Texts:
    """A MoM's report: ``opsys=linux,uname=Linux a #1,loadave=2.1`` by name. A value may have commas of its own."""
    found: Texts = {}
    last = ""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and name.isidentifier():
            last = name
            found[last] = value.strip()
        elif last:
            found[last] += f",{part}"
    return found


def _state(text: str, *, full: bool) -> str:
    """PBS tells a vnode whose slots are all taken (``job-busy``) from one that a job has to itself
    (``job-exclusive``); Torque calls both exclusive."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ",".join("job-busy" if part == "job-exclusive" and full else part for part in parts) or "state-unknown"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
