"""Golden stories: a small cluster, what is remembered and set, and the plan that docs/policies.md asks for.

A file says it in lines that read aloud. A vnode: ``v1 8 mem=16gb state=down``. A job: ``3 bob 4 est=100 sub=20``,
that is id, user, select, and what is not as usual. A run: ``1 alice v1=4 since=0 est=100``, with vnode and cores, or an
exec_vnode. A window of a vnode: ``closed='reservation R12 from 300 to 900 with ncpus=2'``. The plan is told in the same
way, each reason by its sentence. A story may go on in steps: what happened since, and the plan of the next pass. With
``[forecast]`` it tells when the waiting jobs will start, from runs of the ``past`` (``bob 4 took=20 of=100``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hooks.translate.vnodes import RUN_LIMITS
from policy import Changes, Finished, Job, Ledger, Queue, Reading, Run, Settings, Snapshot, Vnode, decide
from policy.forecast.forecast import forecast
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.job_request import Grouping
from policy.model.jobs_runs_vnodes_queues import RUNS, UNLIMITED_S, HardLimits, RunLimits, Server, Window
from policy.model.ledger_between_passes import Backfilled, Earmark, History, Tally
from policy.model.limit_attributes import Limits
from policy.model.pbs_units import parse_amount
from policy.model.priority_class import BASE
from policy.order.fair_share_tree import FairShareTree, Group
from policy.order.job_sort_formula import KEYWORDS, read_formula
from policy.order.site_order_settings import NO_THRESHOLD, FairShare, SiteOrder, SortKey
from sim.workload.read_toml_file import read_toml
from tests.golden.plan_as_lines import Lines, tell, tell_forecast
from tests.policy.clusters import QUEUE, job, place_of, quotas, with_owners


class Told(NamedTuple):
    """One pass of a story: the plan as the file has it, and the plan as it is decided now."""

    said: str
    expected: Lines
    decided: Lines


_FACTS = {
    "story", "now_s", "vnodes", "readings", "queue", "jobs", "runs", "server", "settings", "ledger", "plan", "step",
    "forecast",
}  # fmt: skip
_STEP = {"say", "now_s", "jobs", "gone", "ended", "let_go", "plan"}


def read_story(path: Path) -> list[Told]:
    """The passes of a story in their order; each step after the first begins with what the plan before it started."""
    data = read_toml(path)
    assert set(data) <= _FACTS, f"{path.name}: unknown {set(data) - _FACTS}"
    settings = Settings.from_data(data.get("settings", {}), path.name)
    plan = decide(_snapshot(data), _ledger(data.get("ledger", [])), settings)
    passes = [Told(data["story"], _expected(data["plan"], path), tell(plan))]
    for step in data.get("step", []):
        assert set(step) <= _STEP, f"{path.name}: unknown {set(step) - _STEP}"
        plan = decide(plan.started.apply(_changes(step, plan.started)), plan.ledger, settings)
        passes.append(Told(step["say"], _expected(step["plan"], path), tell(plan)))
    if "forecast" in data:
        told = data["forecast"]
        assert set(told) == {"past", "says"}, f"{path.name}: the forecast has {sorted(told)}"
        ended = RunTimeHistory(map(_ended, told["past"]))
        decided = forecast(_snapshot(data), _ledger(data.get("ledger", [])), settings, ended)
        passes.append(Told("the forecast", {"says": told["says"]}, {"says": tell_forecast(decided)}))
    return passes


def _ended(line: str) -> Finished:
    user, cores, more = _words(line)
    return Finished("0", user, more.get("application", ""), int(cores), 0, float(more["took"]), float(more["of"]))


def _expected(said: Mapping[str, Any], path: Path) -> Lines:
    parts = ("starts", "preempts", "reserved", "waits", "ledger")
    assert set(said) <= set(parts), f"{path.name}: the plan has {sorted(said)}"
    return {
        part: sorted(said.get(part, [])) if part in ("preempts", "waits", "ledger") else list(said.get(part, []))
        for part in parts
    }


def _changes(step: Mapping[str, Any], before: Snapshot) -> Changes:
    """What happened since the pass before: ``ended`` runs are learned from, those ``let_go`` wait again as they were,
    unless a line of ``jobs`` has them with what they saved."""
    now_s, runs = step["now_s"], before.runs
    ended = [runs[run_id] for run_id in step.get("ended", [])]
    finished = [
        Finished(run.id, run.job.user, run.job.application, run.job.cores, run.start_s, now_s, run.job.estimate_s)
        for run in ended
    ]
    arrived = with_owners(map(_job, step.get("jobs", [])), before.vnodes.values())
    queued = [*(runs[run_id].job for run_id in step.get("let_go", [])), *arrived]
    return Changes(now_s, queued, gone=[*(run.id for run in ended), *step.get("gone", [])], finished=finished)


def _ledger(lines: list[str]) -> Ledger:
    promises, holds, preemptions, backfilled, classes, history, stripes = {}, {}, {}, {}, {}, {}, {}
    learned: dict[str, dict[str, Tally]] = {}
    for line in lines:
        kind, job_id, rest = re.fullmatch(r"(\w+) (\S+): (.*)", line).groups()  # type: ignore[union-attr]
        if kind == "promise":
            promises[job_id] = float(rest)
        elif kind == "preempted":
            preemptions[job_id] = int(rest)
        elif kind == "backfilled":
            backfilled[job_id] = Backfilled(float(rest.partition(",")[0]), rest.endswith("may be cut"))
        elif kind == "class":
            classes[job_id] = BASE if rest == "base" else int(rest)
        elif kind == "history":
            last, run_s, estimate_s = re.fullmatch(r"(.*), (\S+) of (\S+)", rest).groups()  # type: ignore[union-attr]
            history[job_id] = History(tuple(map(float, last.split())), float(run_s), float(estimate_s))
        elif kind == "stripe":
            stripes[job_id] = float(rest)
        elif kind == "learned":
            layout, runs, *last = rest.split()
            learned.setdefault(job_id, {})[layout] = Tally(int(runs), tuple(map(float, last)))
        else:
            where, victims, since_s = re.fullmatch(r"(.*) from (.*) since (.*)", rest).groups()  # type: ignore[union-attr]
            since_s, _, rule = since_s.partition(" by ")
            holds[job_id] = Earmark(place_of(where), tuple(victims.split(", ")), float(since_s), rule or "quota")
    return Ledger(promises, holds, preemptions, backfilled, classes, history, learned, stripes)


def _snapshot(data: Mapping[str, Any]) -> Snapshot:
    server = data.get("server", {})
    vnodes, runs = [_vnode(line) for line in data["vnodes"]], [_run(line) for line in data.get("runs", [])]
    return Snapshot.build(
        data.get("now_s", 100),
        vnodes,
        [_queue(table) for table in data.get("queue", [{}])],
        with_owners([_job(line) for line in data.get("jobs", [])], vnodes),
        [run._replace(job=of) for run in runs for of in with_owners([run.job], vnodes)],
        Server(
            "server",
            HardLimits(quotas(server.get("max_run", ""))),
            server.get("left", {}),
            _by_resource(server.get("quotas", {})),
        ),
        dict(_reading(line) for line in data.get("readings", [])),
    )


def _vnode(line: str) -> Vnode:
    name, ncpus, more = _words(line)
    available = {"ncpus": int(ncpus)}
    for resource in [word for word in more if word in ("mem", "ngpus")]:
        available[resource] = parse_amount(more.pop(resource)) or 0
    state = more.pop("state", "free")
    closed = tuple(map(_window, filter(None, more.pop("closed", "").split("; "))))
    limits = [int(more.pop(limit)) if limit in more else None for limit in RUN_LIMITS]
    return Vnode(
        name,
        available,
        host=more.pop("host", ""),
        state=state,
        usable=state == "free",
        partition=more.pop("partition", None),
        sharing=more.pop("sharing", "default_shared"),
        attributes=more,
        closed=closed,
        run_limits=None if limits == [None, None, None] else RunLimits(*limits),
    )


def _window(text: str) -> Window:
    """``reservation R12 from 300 to 900``, and where it keeps a part: ``with ncpus=2 mem=1gb``. A window of a queue
    may be closed ``for starts`` only, or ``for crossing by 60``."""
    whole, _, part = text.partition(" with ")
    whole, _, closed_to = whole.partition(" for ")
    name, start_s, end_s = re.fullmatch(r"(.*) from (\S+) to (\S+)", whole).groups()  # type: ignore[union-attr]
    amounts = {name: parse_amount(amount) or 0 for name, _, amount in (word.partition("=") for word in part.split())}
    kept, (closed_to, _, past_end_s) = tuple(sorted(amounts.items())) or None, closed_to.partition(" by ")
    return Window(float(start_s), float(end_s), name, kept, closed_to or RUNS, float(past_end_s or 0))


def _reading(line: str) -> tuple[str, Reading]:
    """``v1 at=90 memory=40gb/100gb temperature=60/90``: what is left of what there is."""
    name, *words = shlex.split(line)
    numbers: dict[str, float] = {}
    for quantity, _, amounts in (word.partition("=") for word in words if not word.startswith("at=")):
        left, _, total = amounts.partition("/")
        unit = "_kib" if quantity == "memory" else ""
        numbers[f"{quantity}{unit}"] = float(parse_amount(left) or 0)
        most = "temperature_most" if quantity == "temperature" else f"{quantity}_all{unit}"
        numbers[most] = float(parse_amount(total) or 0)
    at_s = next(float(word[3:]) for word in words if word.startswith("at="))
    return name, Reading(at_s, **numbers)


def _queue(table: Mapping[str, Any]) -> Queue:
    hard = HardLimits(quotas(table.get("max_run", "")), {"ncpus": quotas(table.get("max_run_res", ""))})
    plain = {key: table[key] for key in ("started", "managed", "partition", "deferrable", "priority") if key in table}
    soft, priorities = _by_resource(table.get("quotas", "")), quotas(table.get("priorities", ""))
    plain["closed"] = tuple(map(_window, table.get("closed", ())))
    if "order" in table:
        plain["order"] = _order(table["order"])
    cores = soft.pop("ncpus", quotas(""))
    return Queue(table.get("name", QUEUE), hard=hard, quotas=cores, priorities=priorities, other_quotas=soft, **plain)


def _order(table: Mapping[str, Any]) -> SiteOrder:
    """The order of the queue's scheduler. ``needs`` names the numbers that each job has as ``has=4,60``; a line of
    ``shares`` is ``name parent shares``, and ``used`` is what each entity has used."""
    numbers = {*KEYWORDS, *table.get("needs", ())}
    tree = fair_share = None
    if "shares" in table:
        groups = [Group(name, parent, int(count)) for name, parent, count in map(str.split, table["shares"])]
        tree = FairShareTree(groups, 0, {name: float(used) for name, used in table.get("used", {}).items()})
        fair_share = FairShare(tree, read_formula(table["usage"], numbers))
    return SiteOrder(
        express_from=table.get("express_from"),
        formula=read_formula(table["formula"], numbers) if "formula" in table else None,
        threshold=float(table.get("threshold", NO_THRESHOLD)),
        keys=tuple(SortKey(key.split()[0], key.endswith("HIGH")) for key in table.get("keys", ())),
        fair_share=fair_share,
        tree=tree,
        needs=tuple(table.get("needs", ())),
    )


def _by_resource(said: str | Mapping[str, str]) -> dict[str, Limits]:
    """Quotas of cores as one text, or a table of texts by resource."""
    texts = {"ncpus": said} if isinstance(said, str) else said
    return {resource: quotas(text) for resource, text in texts.items()}


def _job(line: str) -> Job:
    job_id, user, more = _words(line)
    select = more.pop("select", None)
    assert select is not None, line
    return _with_wishes(job(job_id, user, select, place=more.pop("place", "")), more)


def _with_wishes(asked: Job, more: dict[str, str]) -> Job:
    numbers = {"est": "estimate_s", "sub": "submit_s", "not_before": "not_before_s", "saved": "saved_s"}
    changes: dict[str, Any] = {}
    for key, value in more.items():
        if key in numbers:
            changes[numbers[key]] = UNLIMITED_S if value == "none" else float(value)
        elif key in ("priority", "own_priority"):
            changes[key] = int(value)
        elif key in ("urgent", "rerunable", "saves", "deferrable"):
            changes[key] = value == "yes"
        elif key == "subjobs":
            first, last = value.split("-")
            changes[key] = tuple(range(int(first), int(last) + 1))
        elif key == "rank":
            mode, *needs = value.split(",")
            changes[key] = RankPreference(
                mode, Requirements(**{name: float(parse_amount(least) or 0) for name, least in map(_pair, needs)})
            )
        elif key == "layout":
            kind, *width = value.split(",")
            changes[key] = Layout(kind, *map(int, width))
        elif key == "has":
            changes["order_values"] = tuple(map(float, value.split(",")))
        elif key == "licences":
            changes["job_wide"] = ((key, int(value)),)
        elif key == "sets":
            resource, *rules = value.split(",")
            sets = Grouping((resource,), "explicit" not in rules, "within" not in rules)
            changes["request"] = asked.request.in_sets(sets)
        elif key == "pinned":
            changes[key] = tuple(value.split(","))
        else:
            assert key in ("queue", "group", "project", "blocked", "application", "entity"), f"{asked.id}: {key}"
            changes[key] = value
    return asked._replace(**changes)


def _run(line: str) -> Run:
    head, _, tail = line.partition(" since=")
    run_id, user, where = head.split(" ", 2)
    words = dict(word.split("=", 1) for word in shlex.split(f"since={tail}"))
    start_s = float(words.pop("since"))
    allocation = place_of(where)
    select = "+".join(
        ":".join([str(spot.chunks), *(f"{name}={amount}" for name, amount in spot.amounts)])
        for spot in allocation.spots
    )
    exiting = words.pop("exiting", "no") == "yes"
    asked = job(run_id, user, words.pop("select", select), place=words.pop("place", ""))
    of = _with_wishes(asked._replace(submit_s=start_s), words)
    return Run(run_id, of, start_s, allocation, start_s + of.estimate_s, exiting)


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name, value


def _words(line: str) -> tuple[str, str, dict[str, str]]:
    """The first two words, and what follows as keys and values; a third plain word is the select."""
    first, second, *rest = shlex.split(line)
    if rest and (":" in rest[0] or "=" not in rest[0]):
        rest[0] = f"select={rest[0]}"
    return first, second, dict(word.split("=", 1) for word in rest)
