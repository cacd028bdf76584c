"""A folder that is removed when this process ends, whichever way: terminal closed, signal, or kill.

A killed process cannot clean up, so a shell in its own session waits for the other end of a pipe to close, and then
removes the folder.
"""

from __future__ import annotations

import subprocess
import tempfile
import weakref
from pathlib import Path

_KEEPER = ("/bin/sh", "-c", 'read -r _; rm -rf -- "$0"')


class Scratch:
    """A new temporary folder, whose name begins with ``prefix``. Call :meth:`close` when done."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        keeper = subprocess.Popen(
            [*_KEEPER, str(self.path)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/",
        )  # fmt: skip
        self.close = weakref.finalize(self, _remove, keeper)
        """Removes the folder, once; at the latest when the process ends."""


def _remove(keeper: subprocess.Popen[bytes]) -> None:
    keeper.communicate()
