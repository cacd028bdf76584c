"""The whole story of a job that was lost, from every log that speaks of it: so that a loss explains itself.

What the server, its accounting and the MoMs have written of the job, in the order of the clock, with what the MoMs said
to the server meanwhile; then what is known of the job at last, its mark among it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path

from hooks.pbs.job_attributes.job_ids_and_states import parent_of
from tests.pbs.cluster import PbsCluster

_JOB = re.compile(r"\b[0-9]+(?:\[[0-9]*\])?\.[A-Za-z][A-Za-z0-9-]*")
_STAMP = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?);")
_TALK = ("HELLO sent", "ReplyHello", "Hello from", "Server closed connection", "Closing existing server stream")
_FAILED = "pbsteer: the execjob_epilogue hook failed"
_AFTERWARDS = ("state F hop", "substate: 93 Requeued")
"""What a server that starts says of each job that has ended: it is no part of the story."""
_TOLD = ("job_state", "substate", "Exit_status", "run_count", "stime", "mtime", "obittime", "Rerunable", "estimated")
_MOST_LINES = 200
_LONGEST_LINE = 400


def find_jobs(words: str) -> list[str]:
    """The ids of jobs in a sentence, each once."""
    return list(dict.fromkeys(_JOB.findall(words)))


def tell_story(pbs: PbsCluster, job_id: str) -> list[str]:
    """A line for each thing that was written of the job (for a subjob, of its array too); the last ones, if many."""
    names = {job_id, parent_of(job_id)}
    logs = [(source, path) for source, folder in _log_folders(pbs) for path in sorted(folder.iterdir())]
    told = order_lines(logs, names)
    left_out = [f"({len(told) - _MOST_LINES} lines before these)"] if len(told) > _MOST_LINES else []
    attributes = pbs.qstat_json()
    last = [f"{name}: { ({key: attributes[name].get(key) for key in _TOLD}) }" for name in names & attributes.keys()]
    return [f"the story of {job_id}:", *left_out, *told[-_MOST_LINES:], *last]


def order_lines(logs: Iterable[tuple[str, Path]], names: Collection[str]) -> list[str]:
    """All lines of these logs that speak of these jobs, from the first to the last before their end, and what MoMs and
    server said to each other between them, by time, and hooks at a job's end that failed; each with the log's source.
    """
    whose = re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, sorted(names))) + r")(?![\w-])")
    lines: list[tuple[datetime, bool, str]] = []
    for source, path in logs:
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            stamp = _STAMP.match(text)
            is_mine = whose.search(text) is not None and not any(words in text for words in _AFTERWARDS)
            if stamp and (is_mine or any(talk in text for talk in (*_TALK, _FAILED))):
                form = "%m/%d/%Y %H:%M:%S" + (".%f" if "." in stamp.group(1) else "")
                time = datetime.strptime(stamp.group(1), form)  # noqa: DTZ007 - all logs are of one machine
                lines.append((time, is_mine, f"{source}: {text[:_LONGEST_LINE]}"))
    lines.sort(key=lambda line: line[0])
    mine = [index for index, line in enumerate(lines) if line[1]]
    return [text for _, _, text in lines[mine[0] : mine[-1] + 1]] if mine else []


def _log_folders(pbs: PbsCluster) -> Iterator[tuple[str, Path]]:
    yield "server", pbs.server_home / "server_logs"
    yield "accounting", pbs.server_home / "server_priv" / "accounting"
    for host in pbs.spec.mom_hosts:
        yield host.name, pbs.testbed.pbs_home(host) / "mom_logs"
