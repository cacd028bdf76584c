"""Texts of other clusters and of users reach the terminal escaped, whichever program prints them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import click
import pytest
from click.testing import CliRunner

from migration.cli import migrate_check_and_plan
from migration.cli.for_service import mgproc_job_process_at_target, mgrecv_pass_at_target, mgsched_pass_at_source
from migration.cli.for_users import findavl_idle_for_other_clusters, mgstat
from migration.passes.check_setup_with_other_clusters import Check
from migration.protocol.replies import Failed
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool, SpoolError
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.place_on_first_free_cluster import Placements, Stay
from tests.migration.passes.simulated_centre import USER

EVIL = "\x1b[2Jgone\u202e\nfake line"


SITE = SimpleNamespace(
    file=SimpleNamespace(this=SimpleNamespace(name="a")),
    spool=SimpleNamespace(read=lambda _: [Record(gid="a.1", user=USER)]),
)
"""Stands for a site whose queue file has one request."""


def _raise(*_: object) -> None:
    raise SpoolError(EVIL)


FINDAVL = "for_users.findavl_idle_for_other_clusters"
PROGRAMS: list[tuple[Any, list[str], dict[str, Callable[..., Any]]]] = [
    (
        findavl_idle_for_other_clusters.main,
        [],
        {f"{FINDAVL}.open_site": lambda: SITE, f"{FINDAVL}.serve": lambda *_: Failed(EVIL)},
    ),
    (findavl_idle_for_other_clusters.main, [], {f"{FINDAVL}.open_site": _raise}),
    (
        mgrecv_pass_at_target.main,
        [],
        {
            "for_service.mgrecv_pass_at_target.open_site_as_service": lambda: None,
            "for_service.mgrecv_pass_at_target.run_target_pass": lambda *_: EVIL,
        },
    ),
    (mgrecv_pass_at_target.main, [], {"for_service.mgrecv_pass_at_target.open_site_as_service": _raise}),
    (
        mgproc_job_process_at_target.main,
        ["a.1"],
        {"for_service.mgproc_job_process_at_target.open_site_as_service": _raise},
    ),
    (mgsched_pass_at_source.main, [], {"for_service.mgsched_pass_at_source.open_source": _raise}),
    (
        migrate_check_and_plan.migrate,
        ["check", "--user", "u"],
        {
            "migrate_check_and_plan.open_source": lambda: None,
            "migrate_check_and_plan.check_pairs": lambda *_: [Check("b", "answers", good=False, text=EVIL)],
        },
    ),
    (
        migrate_check_and_plan.migrate,
        ["plan"],
        {
            "migrate_check_and_plan.open_source": lambda: SITE,
            "migrate_check_and_plan.plan": lambda _: Placements(stays={"a.1": Stay((("b", EVIL),))}),
        },
    ),
]


@pytest.mark.parametrize(("program", "words", "stands_for"), PROGRAMS)
def test_no_program_prints_them_as_they_are(
    program: click.Command, words: list[str], stands_for: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in stands_for.items():
        monkeypatch.setattr(f"migration.cli.{name}", value)
    shown = CliRunner().invoke(program, words).output
    assert "gone" in shown
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "\nfake" not in shown


def test_mgstat_prints_none_of_a_records_texts_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/l"\n'
        '[[cluster]]\nname = "b"\nssh = "mg@b"\n'
    )
    texts = dict.fromkeys(("reason", "localid", "exit", "dst", "name", "account", "fallback"), EVIL)
    with Spool(tmp_path).change() as change:
        change.put(Queue.SENT, Record(gid="a.1", user=USER, src="a", state="Submitted", **texts))  # type: ignore[arg-type]
    for words in ([], ["--json"], ["--queues"]):
        shown = CliRunner().invoke(mgstat.main, words, env={"MG_HOME": str(tmp_path)}).output
        assert shown
        assert all(line.isprintable() for line in shown.split("\n"))
        assert "\nfake" not in shown
