"""Torque's arrays as PBS's: one entry for the array, and its running subjobs as entries of their own.

In Torque each subjob is a job with its own state and holds, and the array is a template beside them (``40[].trq0``).
Here the array has the indices of the subjobs that wait, and ``max_run_subjobs`` if it has a limit (``-t 0-99%5``). That
limit holds subjobs with a hold of its own (``l``), which is no hold for PBS. Subjobs that are held one by one are
named in ``held_subjobs`` of the array and wait for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooks.pbs.job_attributes.job_ids_and_states import index_of, is_array, is_subjob, parent_of
from hooks.pbs.server_status_type_and_attributes import Attributes

Texts = dict[str, str]

LIMIT_HOLD = "l"
"""The hold of a subjob over its array's limit of subjobs that run at once."""
_HOLDING = frozenset("RES")
_OVER = frozenset("FMX")
_HOLD_LETTERS = "uos"


def fold_arrays(jobs: Mapping[str, Attributes]) -> dict[str, Attributes]:
    """Jobs in PBS's words (:mod:`torque.translate.jobs`) with their arrays folded; jobs that have ended are left
    out."""
    folded: dict[str, Attributes] = {}
    templates: dict[str, Attributes] = {}
    members: dict[str, list[str]] = {}
    for job_id, texts in jobs.items():
        if is_array(job_id):
            templates[job_id] = texts
        elif is_subjob(job_id):
            members.setdefault(parent_of(job_id), []).append(job_id)
        elif texts.get("job_state", "") not in _OVER:
            folded[job_id] = texts
    for array_id, subjobs in members.items():
        alive = [job_id for job_id in subjobs if jobs[job_id].get("job_state", "") not in _OVER]
        if not alive:
            continue
        running = [job_id for job_id in alive if jobs[job_id].get("job_state", "") in _HOLDING]
        waiting = [job_id for job_id in alive if jobs[job_id].get("job_state", "") not in _HOLDING]
        template = templates.get(array_id, jobs[alive[0]])
        folded[array_id] = _array(
            template, {job_id: jobs[job_id] for job_id in waiting}, begun=len(waiting) < len(subjobs)
        )
        folded.update({job_id: jobs[job_id] for job_id in running})
    for array_id, texts in templates.items():
        # The server makes the subjobs of a large array one after another.
        if array_id not in members and texts.get("job_state", "") not in _OVER:
            folded[array_id] = {**texts, "array_indices_remaining": _without_limit(texts)[0], "job_state": "Q"}
    return folded


def _array(template: Attributes, waiting: Mapping[str, Attributes], *, begun: bool) -> Texts:
    holds = {job_id: _letters(texts) for job_id, texts in waiting.items()}
    common = set.intersection(*map(set, holds.values())) if holds else set()
    held = [job_id for job_id, letters in holds.items() if letters] if not common else []
    first: Attributes = next(iter(waiting.values()), template)
    texts: Texts = {**template, **{name: text for name, text in first.items() if name.startswith("Resource_List.")}}
    for name in ("queue", "Priority", "comment", "depend", "Execution_Time"):
        if name in first:
            texts[name] = first[name]
    for gone in ("exec_vnode", "stime"):
        texts.pop(gone, None)
    texts["Hold_Types"] = "".join(letter for letter in _HOLD_LETTERS if letter in common) or "n"
    texts["job_state"] = "H" if common else "B" if begun else "Q"
    texts["array_indices_remaining"] = show_indices(_index(job_id) for job_id in waiting if job_id not in held) or "-"
    if held:
        texts["held_subjobs"] = show_indices(map(_index, held))
    texts.pop("max_run_subjobs", None)
    most = _without_limit(template)[1]
    if most:
        texts["max_run_subjobs"] = most
    return texts


def _letters(texts: Attributes) -> str:
    return "".join(letter for letter in texts.get("Hold_Types", "n") if letter in _HOLD_LETTERS)


def _index(job_id: str) -> int:
    return index_of(job_id) or 0


def _without_limit(texts: Attributes) -> tuple[str, str]:
    """The indices of ``0-99%5``, and its limit."""
    indices, _, most = texts.get("job_array_request", "").partition("%")
    return indices, most if most.isascii() and most.isdigit() else ""


def show_indices(indices: Iterable[int]) -> str:
    """Numbers as PBS writes them: ``0-3,7``."""
    parts: list[list[int]] = []
    for index in sorted(indices):
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
