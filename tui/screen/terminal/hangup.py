"""The console ends with its terminal, whatever started it.

A terminal that goes away says so by a signal, which who was started beneath ``nohup`` or a careful shell ignores. Such
a console would try to read and write for ever, as root on the server's host. So it watches its terminal itself.
"""

from __future__ import annotations

import os
import select
import signal
import threading


def end_with_terminal(descriptor: int) -> None:
    """From now on the process ends by SIGHUP when the terminal behind this file descriptor is gone, as it would have
    if nobody had told it to ignore that. What is being changed at that moment is in the audit file already."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    threading.Thread(target=_watch, args=(descriptor,), name="hangup", daemon=True).start()


def _watch(descriptor: int) -> None:
    terminal = select.poll()
    # Asked for nothing, poll tells of hang-ups and errors alone.
    terminal.register(descriptor, 0)
    terminal.poll()
    os.kill(os.getpid(), signal.SIGHUP)
