"""``python -m tests.fuzz_tui``: the console under random keys and hostile answers; 1 where it crashed or hung."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz_tui.send_random_keys_to_console import fuzz


def main() -> int:
    """Run, and say what was done."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_tui", description=__doc__)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    ran = fuzz(arguments.steps, arguments.seed)
    sys.stdout.write(ran.text() + "\n")
    return 1 if ran.problem else 0


if __name__ == "__main__":
    sys.exit(main())
