"""Ends the console when its terminal is gone, whatever it was started by.

SIGHUP alone does not suffice: a process started under ``nohup`` or by some shells ignores it.
"""

from __future__ import annotations

import os
import select
import signal
import threading


def end_with_terminal(descriptor: int) -> None:
    """From now on, end the process by SIGHUP when the terminal behind this file descriptor is gone, even if SIGHUP was
    ignored at the start. A change under way at that moment is in the audit file already.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    threading.Thread(target=_watch, args=(descriptor,), name="hangup", daemon=True).start()


def _watch(descriptor: int) -> None:
    terminal = select.poll()
    # Without any requested events, poll reports only hang-ups and errors.
    terminal.register(descriptor, 0)
    terminal.poll()
    os.kill(os.getpid(), signal.SIGHUP)
