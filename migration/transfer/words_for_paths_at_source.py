"""The words for paths at a job's source: a target sends no path of its own but that of a shared file, percent-encoded.

The source's end loads this module, and nothing of the target's.
"""

from __future__ import annotations

JOB, STAGED, SHARED = "job/", "stage/", "shared"
NO_SETUID = "ug-s,o-t"
"""For rsync's ``--chmod``, where files arrive."""
