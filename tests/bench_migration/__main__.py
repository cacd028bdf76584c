"""``python -m tests.bench_migration PART [OPTION...]``: figures of migration, each part a module of this package.

A part has ``measure(words)``, which yields figures; its first docstring line is what the list of parts says of it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable

from tests.bench_pbs.benchmark_result import HEADING, Figure, machine

Measure = Callable[[Sequence[str]], Iterator[Figure]]


def find_parts() -> dict[str, tuple[Measure, str]]:
    """Part -> what measures it, and one line about it."""
    found = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name == "__main__":
            continue
        part = importlib.import_module(f"tests.bench_migration.{module.name}")
        if hasattr(part, "measure"):
            found[module.name] = (part.measure, (part.__doc__ or "").partition("\n")[0])
    return found


def main(words: Sequence[str]) -> int:
    """Measure a part; 1 where a figure misses what was asked for, 2 where there is no such part."""
    parts = find_parts()
    if not words or words[0] not in parts:
        listed = "".join(f"  {name:<10} {about}\n" for name, (_, about) in parts.items())
        sys.stderr.write(f"usage: python -m tests.bench_migration PART [OPTION...]\n\n{listed}")
        return 2
    measure, _ = parts[words[0]]
    sys.stdout.write(f"{words[0]} ({machine()})\n{HEADING}\n")
    missed = False
    for figure in measure(words[1:]):
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()
        missed = missed or figure.is_missed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
