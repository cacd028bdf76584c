"""Jobs that ran again without need: their work was done, and nothing said that it might not be.

Read from the MoMs' logs, in which the hook at a job's end says why it queues one again, and from the programs' diaries,
which say when a program had done its work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import SLACK_S
from tests.faults.accounting_and_job_log_invariants import Spell, time_of

_AGAIN = re.compile(
    r"^(?P<at>[^;]+);\w+;[^;]*;Job;(?P<job>[^;]+);pbsteer: it ended with (?P<status>-?\d+) and is requeued, .*"
    r"it was asked at (?P<asked>\d+) to save until (?P<until>\d+)"
)
_BEGAN = ";Log opened"
_SOON_S = 100.0
"""So long at most after its end the hook may say what becomes of a job: it waits for a server that is away."""
_ROUNDED_S = 2.0
"""The log and the mark have whole seconds."""


def find_needless(logs: Iterable[Path], spells: Sequence[Spell], saved_status: int) -> list[str]:
    """A sentence for each job that was done after its time to save was over, or the request withdrawn, and is run again
    all the same though it did not end with the status of saved work. A MoM that began meanwhile knows no better."""
    found = []
    for log in logs:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        begun = [time_of(line) for line in lines if _BEGAN in line]
        for again in filter(None, map(_AGAIN.match, lines)):
            told_s, asked_s, until_s = time_of(again["at"] + ";"), int(again["asked"]), int(again["until"])
            if int(again["status"]) == saved_status or any(asked_s - SLACK_S <= at_s <= told_s + 1 for at_s in begun):
                continue
            ends = [each.end_s for each in spells if each.job == again["job"] and each.is_whole]
            done = [end_s for end_s in ends if told_s - _SOON_S <= end_s <= told_s + 1]
            if done and max(done) > until_s + SLACK_S + _ROUNDED_S:
                late_s = max(done) - until_s
                found.append(f"{again['job']} was done {late_s:.1f} s after its time to save, and is run again")
    return found


def count_run_again(spells: Iterable[Spell]) -> int:
    """The jobs whose program did all of its work more than once, for whatever reason."""
    return sum(times > 1 for times in Counter(each.job for each in spells if each.is_whole).values())
