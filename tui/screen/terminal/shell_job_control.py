"""Whether the console may stop itself: only a shell with job control can continue it.

Started as the command of ssh, of a terminal window or of a script, a console that stops would never come back.
"""

from __future__ import annotations

import os


def has_shell_to_return_from() -> bool:
    """Whether the process that started the console is in the same session, but in another process group: so a shell
    starts its jobs. A kernel ignores SIGTSTP without one; SIGSTOP, by which Textual stops, it does not."""
    parent = os.getppid()
    try:
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgrp()
    except OSError:
        return False
