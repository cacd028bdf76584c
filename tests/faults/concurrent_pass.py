"""A pass beside the server's own, on the same folder and server: what a second server that shares the disk would run.

Runs under PBS's own Python: PBS_EXEC, PBS_HOME and the hook's file are its arguments. The module ``pbs`` is as much of
PBS's as a periodic hook asks for.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path


class _Event:
    def accept(self) -> None:
        """Nothing is to be decided."""

    def reject(self, message: str) -> None:
        """The same, with a reason."""
        print(message, flush=True)  # noqa: T201 - it is what the program is for


def main() -> None:
    """Run the hook once."""
    pbs_exec, home, hook = sys.argv[1:]
    sys.path[:0] = [f"{pbs_exec}/lib/python/altair", f"{pbs_exec}/lib/python/altair/pbs/v1"]
    pbs = types.ModuleType("pbs")
    texts = {
        "hook_config_filename": f"{home}/server_priv/hooks/pbsteer_periodic.CF",
        "pbs_conf": {"PBS_HOME": home, "PBS_EXEC": pbs_exec},
        "LOG_WARNING": 4,
        "LOG_ERROR": 3,
        "logmsg": lambda level, text: print(level, text, flush=True),  # noqa: T201 - the same
        "event": _Event,
    }
    for name, value in texts.items():
        setattr(pbs, name, value)
    sys.modules["pbs"] = pbs
    exec(compile(Path(hook).read_text(encoding="utf-8"), "<hook>", "exec"), {"__name__": "hook"})  # noqa: S102 - a hook is run so


main()
