"""The words for paths at a job's source: a target sends no path of its own but that of a shared file, percent-encoded.

The source's end loads this module, and nothing of the target's.
"""

from __future__ import annotations

import re

JOB, STAGED, SHARED = "job/", "stage/", "shared"
"""JOB alone is the content of the job's folder; followed by ``GID/NAME``, the folder of that job, by its name."""
PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}")
"""A folder's name that stands in a word as it is: rsync takes only the names that it has asked for."""
NO_SETUID = "ug-s,o-t"
"""For rsync's ``--chmod``, where files arrive."""
