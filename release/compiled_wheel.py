"""``make compiled-wheel``: the wheel with ``policy/`` and the loop of a replay compiled, for the Python that builds it
and machines of this kind.

It differs from the pure wheel by a native module beside each source of these.
``tests/release/test_compiled_wheel.py`` shows that both decide the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from release.build_distribution import ROOT, begin, main, write_sums
from release.compile_policy import demand_tools


def build(target: Path) -> list[Path]:
    """Build the wheel into ``target``, which is emptied first; returns the files.

    Raises SystemExit with what is missing, or if the folder has other files than an earlier build's;
    :class:`subprocess.CalledProcessError` for a tool that fails; OSError.
    """
    demand_tools()
    begin(target)
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(argv, cwd=ROOT, check=True, env={**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"})
    return write_sums(target)


if __name__ == "__main__":
    main(build, __doc__)
