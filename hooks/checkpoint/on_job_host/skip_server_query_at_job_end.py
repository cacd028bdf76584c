"""Decides on the host, without a server round trip, whether an ended job could have been asked to save.

A host knows the job's own method and the one of the settings; the runjob hook writes a queue's method on the job as it
starts. If the job could not have been asked, and did not end as an asked job does, it has ended for good, and the
server is not called.
"""

from __future__ import annotations

from hooks.checkpoint.save_method.read_save_method_job_asked_for import REQUEUE, SAVING, read_asked_method
from hooks.store.settings_for_host_hooks import read_section
from policy.model.save_method_names import SAVED_STATUS

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BY_SIGNAL = (256, 128)
"""What PBS, and a shell, add to the number of the signal that killed a job."""

_SIGTERM, _SIGKILL = 15, 9
"""As POSIX has them: :mod:`signal` takes a millisecond to load."""
_KILLED = frozenset(base + number for base in _BY_SIGNAL for number in (_SIGTERM, _SIGKILL))


UNREAD = (REQUEUE, SAVED_STATUS)
"""Method and exit status where the settings cannot be read: those of settings that name none."""


def may_be_run_again(exit_status: int) -> bool:
    """Whether the exit status allows a requeue: the job was not killed, and not ended by PBS itself."""
    return exit_status >= 0 and exit_status not in _KILLED


def could_be_asked(job: Any, method: str) -> bool:
    """Whether an event's job could have been asked to save, as far as its host knows: by its own method, else by
    ``method`` of the settings."""
    return (read_asked_method(job) or method) in SAVING


def may_have_been_asked(job: Any, exit_status: int, config: str | None) -> bool:
    """Whether the server has to be queried about this end. ``config`` is the file of the hook's settings; two values
    are read and not checked. If it cannot be read, the server is queried.

    A job without a method of its own that ends with the exit status of saved work, or by a signal, also needs the
    query: it may have been asked by a method that was set a moment ago and has not reached this host.
    """
    preference = read_asked_method(job)
    if preference:
        return preference in SAVING
    saving = read_saving(config)
    if saving is None:
        return True
    method, saved_status = saving
    return method != REQUEUE or exit_status == saved_status or exit_status > min(_BY_SIGNAL)


def says_saved(job: Any, exit_status: int, config: str | None) -> bool:
    """Whether a job counts as saved on request if the server cannot be queried, for example after an error of ours: it
    could have been asked, and ends with the exit status of saved work."""
    method, saved_status = read_saving(config) or UNREAD
    return exit_status == saved_status and could_be_asked(job, method)


def read_saving(config: str | None) -> tuple[str, int] | None:
    """Method and exit status from the file of the hook's settings; None if it cannot be read."""
    try:
        checkpoint = read_section(config, "checkpoint")
    except (OSError, ValueError, ImportError, MemoryError):
        # The reader of JSON is loaded only here, and may not be there either.
        return None
    return checkpoint.get("method", REQUEUE), checkpoint.get("exit_status", SAVED_STATUS)
