"""Run the hook at a job's end as PBS runs it, with an error at each line of ours that it comes to, and print the lines,
and whether the job was requeued all the same, as JSON.

Usage: python -I -S -OO fail_at_each_line.py HOOK_FILE SCENARIO_FILE. The scenario has PBS_HOME, the server's world, and
the job that ended. The hook runs once without an error; at each line that it comes to for the first time, a fork of the
process fails there and goes on from there to its own end.
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
    """The lines that a run comes to, from the first of its entry on, and what became of the job that failed at each."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.failed: int | None = None
        """In a fork: where it says what became of the job."""
        self._run = os.getpid()

    def trace(self, frame: FrameType, what: str, _argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            return None
        has_entered = self.outcomes or (code.co_name == "handle" and "/entries/" in code.co_filename)
        if what == "line" and has_entered and code.co_flags & _IN_FUNCTION and os.getpid() == self._run:
            place = f"{code.co_filename.partition(': ')[2].rstrip('>')}:{frame.f_lineno} {code.co_name}"
            if place not in self.outcomes:
                self._fail_at(place)
        return self.trace

    def _fail_at(self, place: str) -> None:
        readable, writable = os.pipe()
        fork = os.fork()
        if not fork:
            self.failed = writable
            raise RuntimeError("on purpose")
        os.close(writable)
        with os.fdopen(readable, encoding="utf-8") as pipe:
            self.outcomes[place] = pipe.read()
        # The hook waits for a process of its own.
        os.waitpid(fork, 0)


def run(hook: CodeType, job: dict[str, Any]) -> dict[str, bool]:
    """Whether the job was requeued, by the line at which the hook failed."""
    reruns: list[bool] = []
    resources = pbs.Resources(job["Resource_List"])
    on_host = {"stime": None, "in_ms_mom": lambda: True, "rerun": lambda: reruns.append(True)}
    given = {**on_host, **job, "Resource_List": resources}
    pbs.event().job = pbs.Record(**given)
    lines = Lines()
    sys.settrace(lines.trace)
    try:
        exec(hook, {"__builtins__": __builtins__, "__name__": "builtins"})  # noqa: S102
    except SystemExit:
        sys.settrace(None)
    if lines.failed is not None:
        os.write(lines.failed, json.dumps(bool(reruns)).encode("ascii"))
        os._exit(0)
    return {place: json.loads(outcome) for place, outcome in lines.outcomes.items()}


def main() -> None:
    scenario = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    pbs.pbs_conf["PBS_HOME"] = scenario["home"]
    pbs.hook_config_filename = scenario["config"]
    pbs_ifl.WORLD.update(scenario["cluster"])
    hook = compile(Path(sys.argv[1]).read_text(encoding="utf-8"), "<embedded code object>", "exec")
    json.dump(run(hook, scenario["job"]), sys.stdout)


main()
