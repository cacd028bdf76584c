"""The result of one check: a level, a sentence, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

AS_ROOT = "run pbsteer doctor as root on the server's host"
"""The remedy where this user may not look."""

_PLACE = re.compile(
    r"[^:]*: (?:(?:queue (?:'[^']*'|[0-9]+)|cluster): )?"
    r"(?:unknown key|not (?:TOML|JSON)|cannot be read|[a-z_]+(?:\.[a-z_]+)?)"
)
"""The place that a sentence on a settings file begins with: the file, the queue where it is about one, and the key."""


class Level(str, Enum):
    """How bad a finding is: nothing to do; to be looked at; to be mended; could not be looked at."""

    OK = "ok"
    WARN = "warn"
    WRONG = "wrong"
    UNSEEN = "unseen"


class Finding(NamedTuple):
    """One line of the report. ``about``: the thing looked at, in a word or two; ``text``: what was found; ``remedy``:
    what to do, empty where there is nothing to do or the text says it; ``shared``: what a bundle has instead of
    a text that may hold something secret."""

    level: Level
    about: str
    text: str
    remedy: str = ""
    shared: str | None = None

    def show(self) -> str:
        """The line for an administrator."""
        return f"{self.level.value:<6} {self.about}: {self.text}" + (f"; to do: {self.remedy}" if self.remedy else "")

    def to_data(self) -> dict[str, str]:
        """As plain data for JSON."""
        return {"level": self.level.value, "about": self.about, "text": self.text, "do": self.remedy}


def ok(about: str, text: str) -> Finding:
    """A finding with nothing to do."""
    return Finding(Level.OK, about, text)


def warn(about: str, text: str, remedy: str = "") -> Finding:
    """A finding that an administrator should look at."""
    return Finding(Level.WARN, about, text, remedy)


def wrong(about: str, text: str, remedy: str = "") -> Finding:
    """A finding that has to be mended."""
    return Finding(Level.WRONG, about, text, remedy)


def invalid_setting(problem: str, policy: Path) -> Finding:
    """A sentence on what is wrong in the settings file ``policy``. A bundle has only the place: what the file says
    there, also as a key that does not exist, may be a secret or a name."""
    place = _PLACE.match(problem)
    shared = place.group() if place else str(policy)
    return wrong("settings", problem, f"mend it, and see pbsteer check {policy}")._replace(shared=shared)


def unseen(about: str, why: str, remedy: str = "") -> Finding:
    """A thing that could not be looked at, and why."""
    return Finding(Level.UNSEEN, about, why, remedy)


def show_first(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def exit_status(findings: Iterable[Finding]) -> int:
    """2 if anything is wrong; else 1 if there is a warning or a thing that could not be looked at; else 0."""
    levels = {finding.level for finding in findings}
    return 2 if Level.WRONG in levels else int(bool(levels & {Level.WARN, Level.UNSEEN}))


def describe(findings: Sequence[Finding]) -> list[str]:
    """The report as lines, with the sum at the end."""
    counts = [(level, sum(finding.level is level for finding in findings)) for level in Level]
    return [*(finding.show() for finding in findings), ", ".join(f"{count} {level.value}" for level, count in counts)]
