"""Records in a finished job's folder what could not be removed of it, and when the next try is due.

What exceeds the limit of one pass continues soon; what cannot be removed is tried at growing intervals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json

_FILE = "unremoved.json"
_GOES_ON_AFTER_S = 300
_FIRST_S = 3_600
_LONGEST_S = 86_400
_MOST_TEXT = 500


class Unremoved(NamedTuple):
    """The tries so far, the time of the ``next`` one, and the ``text`` of the last failure."""

    tries: int = 0
    next: int = 0
    text: str = ""

    def tried_again(self, now_s: float, text: str, *, goes_on: bool) -> Unremoved:
        """The record after another try. ``goes_on``: the try ended at its limit, with more to remove."""
        pause_s = _GOES_ON_AFTER_S if goes_on else min(_LONGEST_S, _FIRST_S << min(self.tries, 8))
        return Unremoved(self.tries + 1, int(now_s) + pause_s, text[:_MOST_TEXT])


def read_unremoved(folder: Path) -> Unremoved:
    """The record of the job with this folder; one without tries if there is none."""
    try:
        data = parse_json((folder / _FILE).read_bytes())
        return Unremoved(int(data["tries"]), int(data["next"]), str(data["text"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Unremoved()


def write_unremoved(folder: Path, noted: Unremoved) -> None:
    """Write it. Raises OSError."""
    replace_file(folder / _FILE, json.dumps({"v": 1, **noted._asdict()}).encode("ascii") + b"\n")
