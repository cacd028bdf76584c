"""A Torque job in PBS's words: what it asks for as ``select``, what it holds as ``exec_vnode``, its states as PBS's.

Torque's own texts of the request (``Resource_List.nodes``) stay beside them, to be shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hooks.pbs.custom_resources import PREFERENCES
from hooks.pbs.job_attributes.job_ids_and_states import is_array
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, is_own_mark
from hooks.pbs.server_status_type_and_attributes import Attributes, shorten_text
from torque.translate.exec_host_as_exec_vnode import holds_slots, read_exec_vnode
from torque.translate.node_request_as_select import read_request

Texts = dict[str, str]

_KEPT = (
    "job_state", "substate", "queue", "euser", "Job_Owner", "egroup", "Priority", "Job_Name", "qtime", "ctime", "mtime",
    "etime", "Execution_Time", "Hold_Types", "depend", "comment", "Checkpoint", "Account_Name", "sched_hint",
    "start_count", "submit_args", "job_array_request", "total_runtime", "init_work_dir", "Output_Path", "Error_Path",
)  # fmt: skip
MARK = "sched_hint"
"""The attribute that has a pass's mark on a victim: managers and operators write it, and the job keeps it."""
ENDED = "C"
"""Torque's state of a job that has ended; the server shows it for ``keep_completed`` seconds."""
_UNTIL = "comp_time"
_USED = "resources_used."
_LONGEST_WISHES = 4096


def read_job(texts: Attributes, node_names: Collection[str]) -> Texts:
    """The job in PBS's words; an ended one is in the state ``F``."""
    found: Texts = {name: shorten_text(name, texts[name]) for name in _KEPT if texts.get(name)}
    # A job that was submitted without the attribute cannot be requeued.
    found["Rerunable"] = "True" if texts.get("Rerunable", "") in ("True", "1") else "False"
    found.setdefault("Hold_Types", "n")
    for name, text in texts.items():
        if name.startswith("Resource_List."):
            found[name] = shorten_text(name, text)
    if is_own_mark(texts.get(MARK, "")):
        found[MARK_KEY] = texts[MARK]
    found.update(_read_wishes(texts.get("x", "")))
    request = read_request(texts, node_names)
    found["Resource_List.select"], found["Resource_List.place"] = request.select, request.place
    found["Resource_List.ncpus"] = str(request.slots)
    if texts.get("job_state", "") == ENDED:
        found["job_state"] = "F"
        for ours, theirs in (("Exit_status", "exit_status"), ("obittime", _UNTIL), ("stime", "start_time")):
            if texts.get(theirs):
                found[ours] = texts[theirs]
        found.update(read_used(texts))
        if texts.get("exec_host"):
            found["exec_vnode"] = read_exec_vnode(texts["exec_host"], texts.get("exec_gpus", ""))
    elif holds_slots(texts) or texts.get("job_state", "") == "S":
        found["exec_vnode"] = read_exec_vnode(texts.get("exec_host", ""), texts.get("exec_gpus", ""))
        if texts.get("start_time"):
            found["stime"] = texts["start_time"]
    return found


def _read_wishes(text: str) -> Texts:
    """What the owner asks of pbsteer, ``qsub -W x="pbsteer_save:signal;pbsteer_rank:memory"``, as resources of the job:
    Torque knows no others than its own."""
    found = {}
    for part in text[:_LONGEST_WISHES].split(";"):
        name, colon, value = part.strip().partition(":")
        if colon and name in PREFERENCES:
            found[f"Resource_List.{name}"] = value.strip()
    return found


def read_ended_jobs(jobs: Iterable[tuple[str, Attributes]], since_s: float, nodes: Collection[str]) -> dict[str, Texts]:
    """Those of the jobs that ended since then, in PBS's words; array templates are no jobs of their own."""
    found = {}
    for job_id, texts in jobs:
        ended = texts.get(_UNTIL, "") or texts.get("mtime", "")
        over = texts.get("job_state", "") == ENDED and ended.isascii() and ended.isdigit() and int(ended) >= since_s
        if over and not is_array(job_id):
            found[job_id] = read_job(texts, nodes)
    return found


def read_used(texts: Attributes) -> Texts:
    """The ``resources_used`` of a job."""
    return {name: text for name, text in texts.items() if name.startswith(_USED)}
