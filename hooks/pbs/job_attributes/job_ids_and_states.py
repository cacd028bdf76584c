"""Job ids, job states and array indices as PBS writes them.

Kept apart so that hooks which need only these load no other module for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hooks.pbs.server_status_type_and_attributes import Attributes

NO_CHECKPOINT = "n"
"""The value of ``Checkpoint`` for a job that must not be checkpointed (``qsub -c n``)."""

RUNS_AT_HOST = "42"
"""The substate of a job that runs, as its MoM has reported. It has another one while it is sent to its MoM or ends."""


STAGES_IN = "15"
"""The substate of a job that has its vnodes while its files are being brought: state R, without a start."""


_DELETED = re.compile(r" and terminated(?: by [^\s@]+@\S+)?\Z")
"""The end that PBS adds to a running job's comment as soon as the job is deleted (``req_deletejob2`` calls
``update_job_finish_comment``). Users cannot set comments, but a comment may quote words of theirs."""
FAILED_STARTS = "too many failed attempts to run"
"""In PBS's comment on a job that it holds for that reason."""


_SUBJOB = re.compile(r"\[([0-9]+)\]")


_MOST_SUBJOBS = 1_000_000


def is_subjob(job_id: str) -> bool:
    """Whether the id names one subjob of an array, ``12[3].server``."""
    return "[" in job_id and _SUBJOB.search(job_id) is not None


def is_array(job_id: str) -> bool:
    """Whether the id names an array, ``12[].server``."""
    return "[]" in job_id


def parent_of(job_id: str) -> str:
    """The id of the array that a subjob belongs to."""
    return _SUBJOB.sub("[]", job_id, count=1)


def subjob_id(array_id: str, index: int) -> str:
    """The id of one subjob of an array: ``12[].server`` and 3 give ``12[3].server``."""
    return array_id.replace("[]", f"[{index}]", 1)


def may_have_runs(job_id: str, state: str, submitted: str = "", remaining: str = "") -> bool:
    """Whether subjobs of this array may run. They go on running if the array is held or gets a start time. An array
    stays queued until a MoM has reported the first of its subjobs, which holds vnodes before; the indices
    ``remaining`` to start then differ from those ``submitted``."""
    return "[]" in job_id and (state != "Q" or submitted != remaining)


def index_of(job_id: str) -> int | None:
    """The index of a subjob, 3 of ``12[3].server``; None for any other job."""
    index = _SUBJOB.search(job_id)
    return int(index.group(1)) if index else None


def is_running(texts: Attributes) -> bool:
    """Whether the job holds vnodes: it runs, starts, or exits."""
    return texts.get("job_state", "") in ("R", "E")


def was_deleted(texts: Attributes) -> bool:
    """Whether the running job has been deleted. Its program, and PBS's grace time, may keep it alive for a while."""
    return _DELETED.search(texts.get("comment", "")) is not None


def is_held_after_failed_starts(texts: Attributes) -> bool:
    """Whether PBS holds the job, or array, since more than twenty starts did not last (``check_failed_attempts``). Its
    comment says so: PBS's own, or ours that was written over it; PBS clears it at the release."""
    return "s" in texts.get("Hold_Types", "") and FAILED_STARTS in texts.get("comment", "")


def read_start_s(texts: Attributes) -> float | None:
    """When the job's run began; None if it does not run (PBS keeps the start of a held job's last run)."""
    return read_moment_s(texts.get("stime", "")) if is_running(texts) else None


def read_indices(text: str, unread: list[str], most: int = 0) -> tuple[int, ...]:
    """The indices of an array's waiting subjobs: ``1,3-5``, ``2-10:2``; ``-`` and an empty text are none. Of more than
    ``most`` (0: a million) the first ones, so that no array is slow to read. A text that cannot be read is added to
    ``unread``."""
    try:
        return tuple(islice(chain.from_iterable(_read_ranges(text)), most or _MOST_SUBJOBS))
    except ValueError:
        unread.append(f"array_indices_remaining is {text[:80]!r}")
        return ()


def count_indices(text: str) -> int:
    """How many indices a text such as ``1,3-5`` names; 0 for one that cannot be read."""
    try:
        return sum(map(_count, _read_ranges(text)))
    except ValueError:
        return 0


def find_last_count(text: str) -> int:
    """The number at which a loop ends that counts through such a text in its steps: at most a step beyond the last
    index. 0 for a text that cannot be read."""
    try:
        return max((each.stop - 1 + each.step for each in _read_ranges(text)), default=0)
    except ValueError:
        return 0


def has_index(text: str, index: int) -> bool:
    """Whether a text such as ``1,3-5`` names this index."""
    try:
        return any(index in each for each in _read_ranges(text))
    except ValueError:
        return False


def waits_again(run_id: str, jobs: Mapping[str, Attributes]) -> bool:
    """Whether a subjob, which the server lists only while it runs, is among those of its array that wait."""
    index = index_of(run_id)
    return index is not None and has_index(jobs.get(parent_of(run_id), {}).get("array_indices_remaining", ""), index)


def _read_ranges(text: str) -> Iterator[range]:
    """The ranges that a text names, one after another. Raises ValueError for a text that cannot be read."""
    for part in filter(None, text.strip().strip("-").split(",")):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        # At submission a limit of subjobs that run at once may follow: 0-99%5.
        numbers = [first, (last or first).partition("%")[0], step.partition("%")[0] or "1"]
        if not all(n.isascii() and n.isdigit() for n in numbers):
            raise ValueError(text)
        low, high, every = (int(n) for n in numbers)
        yield range(low, high + 1, every)


def _count(indices: range) -> int:
    # len() takes no more than fits into a machine word.
    return max(0, (indices.stop - indices.start + indices.step - 1) // indices.step)


LATEST_S = 1e11
"""The latest moment that is told apart, in the year 5138: PBS takes a start time of 18 digits, which has no date."""


def read_moment_s(text: str) -> float | None:
    """Seconds since 1970; None if the text is no such number, or 0."""
    return min(float(text), LATEST_S) if text.isascii() and text.isdigit() and text.strip("0") else None


_TO_BE_RESUMED = "45"


def waits_to_resume(texts: Attributes) -> bool:
    """Whether a suspended job was resumed by a user or administrator, and now waits for PBS's scheduler to do it."""
    return texts.get("job_state", "") == "S" and texts.get("substate", "") == _TO_BE_RESUMED
