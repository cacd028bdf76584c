"""``pbsteer pass`` that is killed at one point: right before or right after its first request of a kind, or once the
ledger is on disk.

Usage: pass_that_dies.py POINT ARGUMENT... with POINT ``before:pbs_rerunjob``, ``after:pbs_sigjob`` or ``ledger``. A
request that a child process makes kills both. It says so first, as a point that is never reached is no fault.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from hooks.store.state_files import State
from torque.read.libtorque_connection import TorqueConnection
from tui.cli.main import main

_REQUEST, _SAVE = TorqueConnection.request, State.save_ledger
DIES = "dies here"


def die(pass_id: int) -> None:
    os.write(1, f"{DIES}\n".encode())
    for process in {pass_id, os.getpid()}:
        os.kill(process, signal.SIGKILL)


def arm(point: str) -> None:
    """Have the pass of this process die at a point."""
    when, _, name = point.partition(":")
    pass_id = os.getpid()

    def request(self: TorqueConnection, function: Any, *arguments: Any) -> None:
        is_it = function.__name__ == name
        if is_it and when == "before":
            die(pass_id)
        _REQUEST(self, function, *arguments)
        if is_it:
            die(pass_id)

    def save(self: State, *arguments: Any) -> None:
        _SAVE(self, *arguments)
        die(pass_id)

    if name:
        TorqueConnection.request = request  # type: ignore[method-assign]
    else:
        State.save_ledger = save  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    arm(sys.argv[1])
    main(sys.argv[2:])
