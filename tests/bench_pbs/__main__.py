"""``python -m tests.bench_pbs``: the figures on a real PBS server, each on a testbed of its own.

Needs root and an installed PBS, as the tests in tests/pbs do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from container.hosts.machine_and_host_requirements import find_shortcomings
from tests.bench_pbs import (
    console_vs_other_tui,
    cost_of_epilogue_hook,
    cost_of_queuejob_hook,
    costly_requests,
    pass_over_many_jobs,
    requests_with_many_quotas,
    shortjobs,
    soft_limit_comparison,
    start_latency_and_rate,
    start_order,
)
from tests.bench_pbs.benchmark_result import HEADING, Figure, machine

FIGURES: Mapping[str, Callable[[], list[Figure]]] = {
    "submit": cost_of_queuejob_hook.measure,
    "latency": start_latency_and_rate.measure_latency,
    "pass": pass_over_many_jobs.measure,
    "rate": start_latency_and_rate.measure_rate,
    "shortjobs": shortjobs.measure,
    "ends": cost_of_epilogue_hook.measure,
    "softlimits": soft_limit_comparison.measure,
    "entries": requests_with_many_quotas.measure,
    "costly": costly_requests.measure,
    "beside": console_vs_other_tui.measure,
    "order": start_order.measure,
}


def main() -> int:
    """Measure what was named, or all; 1 where a figure that was asked for is missed, or could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_pbs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}; all without one")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    parser.add_argument(
        "--neighbour", default="", metavar="COMMAND", help="beside: another console to measure on the same server"
    )
    parser.add_argument(
        "--setting", action="append", choices=start_order.SETTINGS, metavar="NAME",
        help=f"order: of {', '.join(start_order.SETTINGS)}; may be given again; all without one",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int,
        help=f"order: jobs of each setting ({start_order.JOBS}); "
        f"latency: jobs of each scheduler ({start_latency_and_rate.LATENCY_JOBS})",
    )  # fmt: skip
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in FIGURES]
    if unknown:
        parser.error(f"no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    shortcomings = find_shortcomings(None, os.environ)
    if shortcomings is not None:
        sys.stderr.write(f"nothing measured: {shortcomings}\n")
        return 2
    figures_of: dict[str, Callable[[], list[Figure]]] = {
        **FIGURES,
        "beside": partial(console_vs_other_tui.measure, arguments.neighbour),
        "order": partial(start_order.measure, arguments.setting or (), arguments.jobs or start_order.JOBS),
        "latency": partial(
            start_latency_and_rate.measure_latency, arguments.jobs or start_latency_and_rate.LATENCY_JOBS
        ),
    }
    found: dict[str, list[Figure]] = {}
    broken = False
    for name in arguments.names or FIGURES:
        _tell(f"{name} ({machine()})\n")
        begun_s = time.monotonic()
        try:
            found[name] = figures_of[name]()
        except Exception:  # noqa: BLE001 - the other figures are measured all the same
            broken = True
            _tell(f"  not measured: {traceback.format_exc()}\n")
            continue
        lines = [HEADING, *(figure.line() for figure in found[name])]
        _tell("\n".join(lines) + f"\n  in {time.monotonic() - begun_s:.0f} s\n\n")
    if arguments.json is not None:
        data = {name: [figure.data() for figure in figures] for name, figures in found.items()}
        arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    return 1 if broken or any(figure.is_missed for figures in found.values() for figure in figures) else 0


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
