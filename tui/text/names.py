"""Shortens lists of vnode names: runs of numbered names become ``v0211-v0214``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


def folded_names(names: Iterable[str], most: int = 3) -> str:
    """The names with runs of consecutive numbers folded; after ``most`` runs only the number of further names."""
    runs: list[list[str]] = []
    for name in sorted(names, key=natural):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    shown = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:most]]
    more = sum(len(run) for run in runs[most:])
    return " ".join(shown) + (f" and {more:,} more" if more else "")


def natural(name: str) -> tuple[str, int, str]:
    """A sort key that orders ``v9`` before ``v10``."""
    match = _NUMBERED.match(name)
    return (match.group(1), int(match.group(2)), name) if match else (name, -1, name)


def _follows(before: str, after: str) -> bool:
    first, second = _NUMBERED.match(before), _NUMBERED.match(after)
    return bool(
        first and second and first.group(1) == second.group(1) and int(second.group(2)) == int(first.group(2)) + 1
    )
