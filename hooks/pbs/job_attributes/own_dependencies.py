"""What a job depends on, apart from the jobs that depend on it.

Both are in PBS's ``depend``. When any user submits a job with ``afterok:7.server``, PBS adds ``beforeok:`` and that
job's id to the text of job 7, whoever owns it: nothing that the owner is allowed may be decided by it.
"""

from __future__ import annotations

_ADDED = "before"


def own_dependencies(depend: str) -> str:
    """The part of a ``depend`` that says what the job itself waits for."""
    if _ADDED not in depend:
        return depend
    return ",".join(part for part in depend.split(",") if not part.startswith(_ADDED))
