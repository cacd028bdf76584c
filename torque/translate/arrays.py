"""Torque's arrays as PBS's: one entry for the array, and its running subjobs as entries of their own.

Torque lists only subjobs, each a job with its own state and holds. Here the array has the indices of the waiting ones,
``max_run_subjobs`` as its limit (``-t 0-99%5``; Torque's hold ``l`` on those above it is no hold in PBS),
``held_subjobs`` for those that are held one by one, and the marks of its subjobs, as in PBS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooks.pbs.job_attributes.job_ids_and_states import index_of, is_array, is_subjob, parent_of
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.server_status_type_and_attributes import Attributes

Texts = dict[str, str]

LIMIT_HOLD = "l"
"""The hold of a subjob over its array's limit of subjobs that run at once."""
_HOLDING = frozenset("RES")
_OVER = frozenset("FMX")
_HOLD_LETTERS = "uos"
_OF_RUN = ("exec_vnode", "stime", "start_count", "total_runtime")


def fold_arrays(jobs: Mapping[str, Attributes]) -> dict[str, Attributes]:
    """Jobs in PBS's words (:mod:`torque.translate.jobs`) with their arrays folded; jobs that have ended are left
    out, and so is an array's own template, which some requests list beside the subjobs."""
    folded: dict[str, Attributes] = {}
    members: dict[str, dict[str, Attributes]] = {}
    for job_id, texts in jobs.items():
        if is_subjob(job_id):
            members.setdefault(parent_of(job_id), {})[job_id] = texts
        elif texts.get("job_state", "") not in _OVER and not is_array(job_id):
            folded[job_id] = texts
    for array_id, subjobs in members.items():
        alive = {job_id: texts for job_id, texts in subjobs.items() if texts.get("job_state", "") not in _OVER}
        if alive:
            folded[array_id] = _array(alive, begun=len(alive) < len(subjobs))
            folded.update({job_id: _without_mark(texts) for job_id, texts in alive.items() if _holds(texts)})
    return folded


def _array(alive: Mapping[str, Attributes], *, begun: bool) -> Texts:
    """The array of these subjobs, which have not ended; ``begun`` if others have."""
    waiting = {job_id: texts for job_id, texts in alive.items() if not _holds(texts)}
    holds = {job_id: _letters(texts) for job_id, texts in waiting.items()}
    common = set.intersection(*map(set, holds.values())) if holds else set()
    held = [job_id for job_id, letters in holds.items() if letters] if not common else []
    first_id, first = next(iter((waiting or alive).items()))
    texts: Texts = {name: text for name, text in first.items() if name not in (*_OF_RUN, MARK_KEY)}
    marks: dict[int | None, Mark] = {
        index: mark
        for job_id, each in alive.items()
        if MARK_KEY in each
        for index, mark in read_marks(each).items()
        if index == _index(job_id)
    }
    if marks:
        texts[MARK_KEY] = show_marks(marks)
    if "Job_Name" in texts:
        # The server adds the index to the name of each.
        texts["Job_Name"] = texts["Job_Name"].removesuffix(f"-{_index(first_id)}")
    texts["Hold_Types"] = "".join(letter for letter in _HOLD_LETTERS if letter in common) or "n"
    texts["job_state"] = "H" if common else "B" if begun or len(waiting) < len(alive) else "Q"
    texts["array_indices_remaining"] = show_indices(_index(job_id) for job_id in waiting if job_id not in held) or "-"
    if held:
        texts["held_subjobs"] = show_indices(map(_index, held))
    over = sum(LIMIT_HOLD in each.get("Hold_Types", "") for each in waiting.values())
    if over:
        texts["max_run_subjobs"] = str(len(alive) - over)
    return texts


def _holds(texts: Attributes) -> bool:
    return texts.get("job_state", "") in _HOLDING


def _without_mark(texts: Attributes) -> Attributes:
    return {name: text for name, text in texts.items() if name != MARK_KEY} if MARK_KEY in texts else texts


def _letters(texts: Attributes) -> str:
    return "".join(letter for letter in texts.get("Hold_Types", "n") if letter in _HOLD_LETTERS)


def _index(job_id: str) -> int:
    return index_of(job_id) or 0


def show_indices(indices: Iterable[int]) -> str:
    """Numbers as PBS writes them: ``0-3,7``."""
    parts: list[list[int]] = []
    for index in sorted(indices):
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
