"""hatchling's build hook of ``make compiled-wheel``: adds the compiled modules of ``policy/`` and of a replay's loop to
the wheel, beside their sources.

hatchling runs it only where ``HATCH_BUILD_HOOK_ENABLE_CUSTOM`` is set (``pyproject.toml``); every other wheel is pure.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

from release.compile_policy import compile_policy


class CompiledPolicy(BuildHookInterface[Any]):
    """One build: compiles before the wheel is written, and removes what was compiled afterwards."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; tell hatchling which files to add, and for which Python and machine the wheel is."""
        self._scratch = tempfile.TemporaryDirectory(prefix="pbsteer-compiled-")
        target = Path(self._scratch.name)
        for path in compile_policy(Path(self.root), target):
            build_data["force_include"][str(path)] = f"pbsteer/tree/{path.relative_to(target)}"
        build_data["pure_python"] = False
        build_data["tag"] = _find_tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled modules, which are in the wheel now."""
        self._scratch.cleanup()


def _find_tag() -> str:
    """This Python, and machines with at least this C library (PEP 600): nothing else is linked. pip installs the pure
    wheel on others."""
    tags = [str(tag) for tag in sys_tags()]
    return next((tag for tag in tags if re.search(r"-(many|musl)linux_\d", tag)), tags[0])
