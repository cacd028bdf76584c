"""Golden stories: a small cluster, what is remembered and set, and the plan that docs/policies.md asks for.

A file says it in lines that read aloud. A vnode: ``v1 8 mem=16gb state=down``. A job: ``3 bob 4 est=100 sub=20``,
that is id, user, select, and what is not as usual. A run: ``1 alice v1=4 since=0 est=100``, with vnode and cores, or an
exec_vnode. The plan is told in the same way, each reason by its sentence.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from policy import Job, Ledger, Plan, Queue, Run, Settings, Snapshot, Vnode, decide
from policy.cluster import UNLIMITED_S, HardLimits, Server
from policy.ledger import Hold
from policy.placement import Placement
from policy.units import parse_amount
from sim.toml_file import read_toml
from tests.policy.clusters import QUEUE, job, place_of, quotas

Told = dict[str, list[str]]


def read_story(path: Path) -> tuple[str, Told, Told]:
    """What is told, the plan as the file has it, and the plan as it is decided now."""
    data = read_toml(path)
    known = {"story", "now_s", "vnodes", "queue", "jobs", "runs", "server", "settings", "ledger", "plan"}
    assert set(data) <= known, f"{path.name}: unknown {set(data) - known}"
    snapshot = _snapshot(data)
    settings = Settings.from_data(data.get("settings", {}), path.name)
    plan = decide(snapshot, _ledger(data.get("ledger", [])), settings)
    expected = {
        part: list(data["plan"].get(part, [])) for part in ("starts", "preempts", "reserved", "waits", "ledger")
    }
    assert set(data["plan"]) <= set(expected), f"{path.name}: the plan has {sorted(data['plan'])}"
    for part in ("waits", "preempts", "ledger"):
        expected[part].sort()
    return data["story"], expected, tell(plan)


def tell(plan: Plan) -> Told:
    """The plan in lines; starts in their order, all else sorted."""
    return {
        "starts": [
            f"{start.id} on {_where(start.placement)}{', backfilled' if start.backfilled else ''}"
            for start in plan.starts
        ],
        "preempts": sorted(
            f"{preempt.id} for {preempt.beneficiary}{' again' if preempt.again else ''}:"
            f" {preempt.reason.sentence(preempt.run.job, plan.time_s)}"
            for preempt in plan.preempts
        ),
        "reserved": [f"{e.id} at {e.at_s:g}, promised {e.promised_s:g}" for e in plan.estimates],
        "waits": sorted(_tell_waits(plan)),
        "ledger": sorted(_tell_ledger(plan.ledger)),
    }


def _tell_waits(plan: Plan) -> Iterator[str]:
    for job_id, (waiting, reason) in plan.reasons().items():
        yield f"{job_id}: {reason.sentence(waiting, plan.time_s)}"
        for tried in reason.tried:
            yield f"{job_id} tried: {tried.sentence(waiting, plan.time_s)}"


def _tell_ledger(ledger: Ledger) -> Iterator[str]:
    for job_id, at_s in ledger.promises.items():
        yield f"promise {job_id}: {at_s:g}"
    for job_id, hold in ledger.holds.items():
        yield f"hold {job_id}: {_where(hold.placement)} from {', '.join(sorted(hold.victims))} since {hold.since_s:g}"
    for job_id, count in ledger.preemptions.items():
        yield f"preempted {job_id}: {count}"
    for job_id, at_s in ledger.backfilled.items():
        yield f"backfilled {job_id}: {at_s:g}"


def _where(placement: Placement) -> str:
    """Vnode and cores, and what else is held there."""
    words = []
    for name in placement.vnodes:
        held: dict[str, int] = {}
        for spot in placement.spots:
            if spot.vnode == name:
                for resource, amount in spot.amounts:
                    held[resource] = held.get(resource, 0) + amount * spot.chunks
        more = "".join(f" {resource}={amount}" for resource, amount in sorted(held.items()) if resource != "ncpus")
        words.append(f"{name}={held.get('ncpus', 0)}{more}")
    return " ".join(words)


def _ledger(lines: list[str]) -> Ledger:
    promises, holds, preemptions, backfilled = {}, {}, {}, {}
    for line in lines:
        kind, job_id, rest = re.fullmatch(r"(\w+) (\S+): (.*)", line).groups()  # type: ignore[union-attr]
        if kind == "promise":
            promises[job_id] = float(rest)
        elif kind == "preempted":
            preemptions[job_id] = int(rest)
        elif kind == "backfilled":
            backfilled[job_id] = float(rest)
        else:
            where, victims, since_s = re.fullmatch(r"(.*) from (.*) since (.*)", rest).groups()  # type: ignore[union-attr]
            holds[job_id] = Hold(place_of(where), tuple(victims.split(", ")), float(since_s))
    return Ledger(promises, holds, preemptions, backfilled)


def _snapshot(data: Mapping[str, Any]) -> Snapshot:
    server = data.get("server", {})
    return Snapshot.build(
        data.get("now_s", 100),
        [_vnode(line) for line in data["vnodes"]],
        [_queue(table) for table in data.get("queue", [{}])],
        [_job(line) for line in data.get("jobs", [])],
        [_run(line) for line in data.get("runs", [])],
        Server("server", HardLimits(quotas(server.get("max_run", ""))), server.get("left", {})),
    )


def _vnode(line: str) -> Vnode:
    name, ncpus, more = _words(line)
    available = {"ncpus": int(ncpus)}
    for resource in [word for word in more if word in ("mem", "ngpus")]:
        available[resource] = parse_amount(more.pop(resource)) or 0
    state = more.pop("state", "free")
    return Vnode(
        name,
        available,
        host=more.pop("host", ""),
        state=state,
        usable=state == "free",
        partition=more.pop("partition", None),
        sharing=more.pop("sharing", "default_shared"),
        attributes=more,
    )


def _queue(table: Mapping[str, Any]) -> Queue:
    hard = HardLimits(quotas(table.get("max_run", "")), {"ncpus": quotas(table.get("max_run_res", ""))})
    plain = {key: table[key] for key in ("started", "managed", "partition") if key in table}
    return Queue(table.get("name", QUEUE), quotas=quotas(table.get("quotas", "")), hard=hard, **plain)


def _job(line: str) -> Job:
    job_id, user, more = _words(line)
    select = more.pop("select", None)
    assert select is not None, line
    return _with_wishes(job(job_id, user, select, place=more.pop("place", "")), more)


def _with_wishes(asked: Job, more: dict[str, str]) -> Job:
    numbers = {"est": "estimate_s", "sub": "submit_s", "not_before": "not_before_s"}
    changes: dict[str, Any] = {}
    for key, value in more.items():
        if key in numbers:
            changes[numbers[key]] = UNLIMITED_S if value == "none" else float(value)
        elif key == "priority":
            changes[key] = int(value)
        elif key in ("urgent", "rerunable"):
            changes[key] = value == "yes"
        elif key == "subjobs":
            first, last = value.split("-")
            changes[key] = tuple(range(int(first), int(last) + 1))
        elif key == "licences":
            changes["job_wide"] = ((key, int(value)),)
        else:
            assert key in ("queue", "group", "project", "blocked"), f"{asked.id}: {key}"
            changes[key] = value
    return replace(asked, **changes)


def _run(line: str) -> Run:
    head, _, tail = line.partition(" since=")
    run_id, user, where = head.split(" ", 2)
    words = dict(word.split("=", 1) for word in shlex.split(f"since={tail}"))
    start_s = float(words.pop("since"))
    placement = place_of(where)
    select = "+".join(
        ":".join([str(spot.chunks), *(f"{name}={amount}" for name, amount in spot.amounts)]) for spot in placement.spots
    )
    exiting = words.pop("exiting", "no") == "yes"
    asked = job(run_id, user, words.pop("select", select), place=words.pop("place", ""))
    of = _with_wishes(replace(asked, submit_s=start_s), words)
    return Run(run_id, of, start_s, placement, start_s + of.estimate_s, exiting)


def _words(line: str) -> tuple[str, str, dict[str, str]]:
    """The first two words, and what follows as keys and values; a third plain word is the select."""
    first, second, *rest = shlex.split(line)
    if rest and (":" in rest[0] or "=" not in rest[0]):
        rest[0] = f"select={rest[0]}"
    return first, second, dict(word.split("=", 1) for word in rest)
