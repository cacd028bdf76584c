"""A folder for as long as this process lives, however it ends: closed with its terminal, told to end, or killed.

Nothing that a killed process does can be relied on, so a shell in a session of its own waits for the other end of a
pipe to close, and removes the folder then.
"""

from __future__ import annotations

import subprocess
import tempfile
import weakref
from pathlib import Path

_KEEPER = ("/bin/sh", "-c", 'read -r _; rm -rf -- "$0"')


class Scratch:
    """A new folder, whose name begins with ``prefix``, among the temporary ones. Call :meth:`close` when done."""

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
