"""``python -m tests.bench_tui``: the console's figures on a real pseudo-terminal, at 100,000 jobs and 10,000 vnodes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.bench_pbs.benchmark_result import Figure, machine
from tests.bench_tui.console_on_recorded_or_simulated_server import Size
from tests.bench_tui.first_frame import measure_first_frame
from tests.bench_tui.measure_console_speed_and_memory import measure_far, measure_recorded, measure_simulated

FIGURES: Mapping[str, Callable[[Size], Iterator[Figure]]] = {
    "first-frame": measure_first_frame,
    "recorded": measure_recorded,
    "simulated": measure_simulated,
    "far": measure_far,
}


def main() -> int:
    """Measure what was named, or all; 1 where a figure that was asked for is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_tui", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}; all without one")
    parser.add_argument("--jobs", type=int, default=Size().jobs)
    parser.add_argument("--vnodes", type=int, default=Size().vnodes)
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in FIGURES]
    if unknown:
        parser.error(f"no figures {unknown[0]!r}; there are {', '.join(FIGURES)}")
    size = Size(arguments.jobs, arguments.vnodes)
    found: dict[str, list[Figure]] = {}
    for name in arguments.names or FIGURES:
        sys.stdout.write(f"{name}, {size.jobs:,} jobs, {size.vnodes:,} vnodes ({machine()})\n")
        sys.stdout.flush()
        found[name] = []
        for figure in FIGURES[name](size):
            found[name].append(figure)
            sys.stdout.write(figure.line() + "\n")
            sys.stdout.flush()
    if arguments.json is not None:
        data = {name: [figure.data() for figure in figures] for name, figures in found.items()}
        arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    missed = [f for figures in found.values() for f in figures if f.asked is not None and f.value > f.asked]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
