"""Run the hook at a job's end once for each line of ours that it comes to, with an error there, as PBS runs it, and
print the lines, and whether the job was queued again all the same, as JSON.

Usage: python -I -S -OO fail_at_each_line.py HOOK_FILE SCENARIO_FILE. The scenario has PBS_HOME, the server's world, and
the job that ended. Each run is in a process of its own, in which nothing of the hook is loaded yet.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pbs  # type: ignore[import-not-found, unused-ignore]
import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

_OURS = "<pbsteer "
_IN_FUNCTION = 0x1
"""The flag of code that has fast locals (inspect.CO_OPTIMIZED): what runs on loading has not."""


class Lines:
    """The lines that one run comes to, from the first of its entry on; an error is raised at ``place``."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.seen: dict[str, None] = {}
        self._run = os.getpid()

    def trace(self, frame: FrameType, what: str, _argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            return None
        has_entered = self.seen or (code.co_name == "handle" and "/entries/" in code.co_filename)
        if what == "line" and has_entered and code.co_flags & _IN_FUNCTION and os.getpid() == self._run:
            place = f"{code.co_filename.partition(': ')[2].rstrip('>')}:{frame.f_lineno} {code.co_name}"
            is_first = place not in self.seen
            self.seen[place] = None
            if is_first and place == self.place:
                raise RuntimeError("on purpose")
        return self.trace


def run(hook: CodeType, job: dict[str, Any], place: str) -> tuple[list[str], bool]:
    """The lines of one run, and whether its job was queued again."""
    reruns: list[bool] = []
    resources = pbs.Resources(job["Resource_List"])
    given = {**job, "Resource_List": resources, "in_ms_mom": lambda: True, "rerun": lambda: reruns.append(True)}
    pbs.event().job = pbs.Record(**given)
    lines = Lines(place)
    sys.settrace(lines.trace)
    try:
        exec(hook, {"__builtins__": __builtins__, "__name__": "builtins"})  # noqa: S102
    except SystemExit:
        sys.settrace(None)
    return list(lines.seen), bool(reruns)


def run_apart(hook: CodeType, job: dict[str, Any], place: str = "") -> tuple[list[str], bool]:
    """The same in a child process."""
    readable, writable = os.pipe()
    if os.fork():
        os.close(writable)
        with os.fdopen(readable, encoding="utf-8") as pipe:
            places, is_queued_again = json.load(pipe)
        os.wait()
        return places, is_queued_again
    with os.fdopen(writable, "w", encoding="utf-8") as pipe:
        json.dump(run(hook, job, place), pipe)
    os._exit(0)


def main() -> None:
    scenario = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    pbs.pbs_conf["PBS_HOME"] = scenario["home"]
    pbs.hook_config_filename = scenario["config"]
    pbs_ifl.WORLD.update(scenario["cluster"])
    hook = compile(Path(sys.argv[1]).read_text(encoding="utf-8"), "<embedded code object>", "exec")
    places, _ = run_apart(hook, scenario["job"])
    json.dump({place: run_apart(hook, scenario["job"], place)[1] for place in places}, sys.stdout)


main()
