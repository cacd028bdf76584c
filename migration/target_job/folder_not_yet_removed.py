"""What of a job that is over could not be removed here, and when that is tried again: a file in the job's own folder.

What is only too much for one pass goes on soon; what cannot be removed is tried at growing intervals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from hooks.store.atomic_file import replace_file

_FILE = "unremoved.json"
_GOES_ON_AFTER_S = 300
_FIRST_S = 3_600
_LONGEST_S = 86_400
_MOST_TEXT = 500


class Unremoved(NamedTuple):
    """``tries`` so far; ``next`` is when the next one is due; ``text`` is what was said."""

    tries: int = 0
    next: int = 0
    text: str = ""

    def tried_again(self, now_s: float, text: str, *, goes_on: bool) -> Unremoved:
        """After another try. With ``goes_on`` it was too much for once."""
        pause_s = _GOES_ON_AFTER_S if goes_on else min(_LONGEST_S, _FIRST_S << min(self.tries, 8))
        return Unremoved(self.tries + 1, int(now_s) + pause_s, text[:_MOST_TEXT])


def read_unremoved(folder: Path) -> Unremoved:
    """Of the job with this folder; one without tries where nothing is noted."""
    try:
        data = json.loads((folder / _FILE).read_bytes())
        return Unremoved(int(data["tries"]), int(data["next"]), str(data["text"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Unremoved()


def write_unremoved(folder: Path, noted: Unremoved) -> None:
    """Note it. Raises OSError."""
    replace_file(folder / _FILE, json.dumps({"v": 1, **noted._asdict()}).encode("ascii") + b"\n")
