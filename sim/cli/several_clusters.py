"""`pbsteer simulate --clusters`: several clusters side by side, each by itself and with jobs that migrate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sim.cli.replay_options import CommandError, Source, find_policies, load_trace, say_left_out
from sim.replay.metrics import measure
from sim.replay.several_clusters import ClustersReplay, Copying, Site, replay_clusters
from sim.report.replay_table_json_and_csv import aligned, heads, labelled_figures, printable
from sim.workload.read_toml_file import TomlFileError, read_toml
from sim.workload.workload import Cluster, Workload

POLICIES = ("fcfs", "easy", "easy-sjbf")
"""Those that preempt nothing: a job that moves has not run."""
_MOST = 1000
_MIB, _GIB = 1 << 20, 1 << 30


def simulate_clusters(
    source: Source,
    clusters: str,
    policy_names: tuple[str, ...],
    core_mib: float,
    bandwidth_mib_s: float,
    *,
    as_json: bool,
) -> None:
    """Replay all clusters twice, and print both. Raises CommandError."""
    names = policy_names or ("easy",)
    if len(names) > 1 or names[0] not in POLICIES:
        raise CommandError(f"--policy {' '.join(names)}: with --clusters one of {', '.join(POLICIES)}")
    (build,) = find_policies(names)
    loaded = _load(source, clusters)
    sites = [Site(name, workload, cluster, build(workload, cluster)) for name, workload, cluster in loaded]
    for site in sites:
        say_left_out(site.workload)
    copying = Copying(core_mib * _MIB, bandwidth_mib_s * _MIB)
    replays = [replay_clusters(sites, None), replay_clusters(sites, copying)]
    if not all(one.replay.records for one in replays):
        raise CommandError("not one of the jobs could ever start")
    if as_json:
        for one in replays:
            click.echo(_to_json(one, len(sites)))
        return
    jobs = sum(len(site.workload.jobs) for site in sites)
    cores = sum(site.cluster.cores for site in sites)
    reservations = sum(len(site.cluster.reservations) for site in sites)
    reserved = f", {reservations:,} reservation{'s' * (reservations != 1)}" if reservations else ""
    click.echo(
        f"{len(sites)} clusters, {cores:,} cores, {jobs:,} jobs{reserved}, policy {names[0]}; separate, and with "
        "migration:\n"
    )
    moved = [
        ["jobs moved", *(f"{one.moved_jobs:,}" for one in replays)],
        ["copied", *(f"{one.moved_bytes / _GIB:,.1f} GiB" for one in replays)],
    ]
    measured = [measure(one.replay) for one in replays]
    heads_of = heads([metrics.policy for metrics in measured])
    click.echo("\n".join(aligned([["", *heads_of], *labelled_figures(measured), *moved])))


def _to_json(one: ClustersReplay, clusters: int) -> str:
    figures = measure(one.replay).figures()
    more = {"clusters": clusters, "moved_jobs": one.moved_jobs, "moved_bytes": one.moved_bytes}
    return json.dumps({**figures, **more}, allow_nan=False)


def _load(source: Source, clusters: str) -> list[tuple[str, Workload, Cluster]]:
    if not clusters.isdigit():
        return _load_file(Path(clusters), source)
    count = int(clusters)
    if not 2 <= count <= _MOST:
        raise CommandError(f"--clusters {clusters}: must be from 2 to {_MOST}, or a file")
    if source.jobs is not None:
        seed = 1 if source.seed is None else source.seed
        return [(f"c{number + 1}", *replace(source, seed=seed + number).load_workload()) for number in range(count)]
    if len(source.traces) != count:
        raise CommandError(f"--clusters {count}: needs {count} traces, one for each; {len(source.traces)} are given")
    return [
        (f"c{number}", *replace(source, traces=(path,)).load_workload()) for number, path in enumerate(source.traces, 1)
    ]


def _load_file(path: Path, source: Source) -> list[tuple[str, Workload, Cluster]]:
    """Clusters by a TOML file of ``[[cluster]]`` tables: ``name``, ``trace`` (relative to the file), ``cluster``."""
    if source.traces or source.jobs is not None or source.cluster is not None:
        raise CommandError(
            f"--clusters {path}: the file names the traces and clusters: no TRACE, --generate or --cluster"
        )
    for option, given in (
        ("--load", source.load),
        ("--resample", source.resample),
        ("--reservations", source.reservations),
        ("--users", source.users),
        ("--seed", source.seed),
        ("--applications", source.applications),
    ):
        if given is not None:
            raise CommandError(f"{option} {given}: not with --clusters {path}")
    try:
        data = read_toml(path)
    except TomlFileError as error:
        raise CommandError(error) from error
    tables = data.get("cluster")
    if set(data) != {"cluster"} or not isinstance(tables, list) or len(tables) < 2:
        raise CommandError(f"{path}: must have two or more tables [[cluster]], and nothing else")
    found = [_load_table(path, number, table) for number, table in enumerate(tables, 1)]
    names = [name for name, _, _ in found]
    if len(set(names)) < len(names):
        raise CommandError(f"{path}: names {', '.join(map(printable, names))}: each must be another")
    return found


def _load_table(path: Path, number: int, table: Mapping[str, Any]) -> tuple[str, Workload, Cluster]:
    unknown = set(table) - {"name", "trace", "cluster"}
    if unknown or not all(isinstance(value, str) and value for value in table.values()) or "trace" not in table:
        raise CommandError(f"{path}: cluster {number}: must have trace, and may have name and cluster, all texts")
    workload, cluster = load_trace((path.parent / table["trace"],), table.get("cluster"))
    return table.get("name", f"c{number}"), workload, cluster
