"""The console under fuzz, as a program: on a hostile server, writing down what it was made to do.

Usage: console_on_hostile_server.py SEED FILE. The file has JSON: counts of actions, of screens opened over the main
one, and of answers. At SIGUSR1 it writes into a file "stacks" beside that one where each of its threads is.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz_tui.hostile_backend import HostileBackend
from tui.audit.audit_file import Actor
from tui.screen.app import Console
from tui.screen.main_screen import MainScreen
from tui.state.server_poller import PollResult

STACKS = "stacks"

did: dict[str, Counter[str]] = {"actions": Counter(), "views": Counter(), "screens": Counter()}


def main(seed: int, written: Path) -> int:
    faulthandler.register(signal.SIGUSR1, written.with_name(STACKS).open("w"), all_threads=True)
    backend = HostileBackend(seed)
    do, tell, push = MainScreen.action_do, MainScreen._tell, Console.push_screen

    def counted_do(self: MainScreen, name: str, argument: str = "") -> None:
        did["actions"][name] += 1
        if name == "quit":
            return
        do(self, name, argument)
        did["views"][self.view_name] += 1

    def counted_tell(self: MainScreen, news: PollResult) -> None:
        tell(self, news)
        fresh = written.with_suffix(".new")
        fresh.write_text(json.dumps({**did, "polls": backend.polls, "changes": backend.changes}))
        fresh.replace(written)

    def counted_push(self: Console, screen: Any, *others: Any, **more: Any) -> Any:
        did["screens"][type(screen).__name__] += 1
        return push(self, screen, *others, **more)

    MainScreen.action_do = counted_do  # type: ignore[method-assign]
    MainScreen._tell = counted_tell  # type: ignore[method-assign]
    Console.push_screen = counted_push  # type: ignore[method-assign, assignment]
    console = Console(backend, written.with_name("audit.jsonl"), Actor("fuzz", "here"), interval_s=0.3)
    console.run(mouse=False)
    if console._exception is not None:
        frames = traceback.extract_tb(console._exception.__traceback__)
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
        written.with_name("crash").write_text(f"{console._exception!r:.300} at {' > '.join(places)}")
    return console.return_code or 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
