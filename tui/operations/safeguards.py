"""What somebody has to type before a deed is done, the same on the screen and on the command line.

A single change that can be taken back asks for nothing but a yes. What ends work or has several targets asks for the
target's name or the number of targets, and a production server for its name as well.
"""

from __future__ import annotations

from tui.config.site import Site
from tui.operations.operation import Deed


def asked_for(deed: Deed, server: str, site: Site) -> str:
    """The text to be typed; empty where a yes is enough."""
    targets = deed.targets
    words = []
    if len(targets) > 1:
        words.append(str(len(targets)))
    elif deed.ends_work:
        (change, *_) = deed.changes
        words.append(targets[0].partition(".")[0] if change.target.kind == "job" else targets[0])
    if site.is_production(server):
        words.append(server)
    return " ".join(words)


def is_confirmed(asked: str, typed: str) -> bool:
    """Whether what was typed is what was asked for; blanks around and between do not matter."""
    return typed.split() == asked.split()
