"""mgsub, mgstat and mgstop on the files of a site; passes in between take what users have left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from migration.cli.for_users import mgstat, mgstop, mgsub
from migration.cli.migrating_job_in_words import show_age, show_bytes
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.passes.simulated_centre import LOST, USER, Centre

CLUSTER_FILE = """
this = "a"
[[cluster]]
name = "b"
ssh = "mg@b"
[[cluster]]
name = "c"
ssh = "mg@c"
[[cluster]]
name = "a"
ssh = "mg@a"
scheduler = "pbs"
landing = "/scratch"
[here]
min_uid = 1
allowed_roots = ["{root}"]
"""


class Site:
    """The files of cluster a, a user's folder, and passes on demand."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "mg"
        self.home.mkdir()
        self.folder = folder / "run 1"
        self.folder.mkdir()
        (self.folder / "p").touch(0o700)
        (self.home / "cluster.toml").write_text(CLUSTER_FILE.format(root=folder))
        self.centre = Centre(self.home)
        here = self.centre.file.here
        roots = (str(folder),)
        self.centre.file = self.centre.file.__class__(
            self.centre.file.this,
            self.centre.file.others,
            here.__class__(min_uid=0, allowed_roots=roots, refused_groups=()),
        )

    def run(self, program: click.Command, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(program, words, env={"MG_HOME": str(self.home)}, prog_name=program.name)
        return result.exit_code, result.output

    def jobs(self, *words: str) -> list[dict[str, Any]]:
        _, text = self.run(mgstat.main, "--json", "-u", "all", *words)
        jobs: list[dict[str, Any]] = json.loads(text)["jobs"]
        return jobs

    def submit(self, *words: str) -> str:
        status, text = self.run(mgsub.main, *(words or ("-n", "4", "-w", "1:00", str(self.folder), "./p")))
        assert status == 0, text
        return text.strip()

    def record(self) -> Record:
        return self.centre.record()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_what_is_asked_for_is_what_the_record_has(site: Site) -> None:
    grid = site.folder.parent / "mesh.dat"
    grid.write_text("x")
    words = ["-t", "b", "-n", "6", "-N", "2", "-w", "1:30:00", "-m", "1gb", "-g", "1", "-b", "make all", "-b", "make b"]
    words += ["-s", str(grid), "-x", "*.o", "--no-stage-back", "tmp*", "-e", "A=1 2", "-j", "wing"]
    ticket = site.submit(*words, str(site.folder), "./solve", "-n", "50%", "é\t")
    site.centre.run_pass()
    record = site.record()
    assert (record.want, record.cores, record.nodes, record.walltime, record.mem) == ("b", 6, 2, 5400, 1024)
    assert (record.gpus, record.build, record.shared, record.exclude) == (
        1,
        ("make all", "make b"),
        (str(grid),),
        ("*.o",),
    )
    assert (record.nostage, record.env, record.name, record.ticket) == (("tmp*",), ("A=1 2",), "wing", ticket)
    assert (record.dir, record.prog, record.args) == (str(site.folder), "./solve", ("-n", "50%", "é\t"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-w", "1:00", "DIR", "p"], "-n CORES must be given"),
        (["-n", "1", "DIR", "p"], "walltime: missing"),
        (["-n", "3", "-N", "2", "-w", "60", "DIR", "p"], "must be a multiple of the nodes"),
        (["-n", "3", "-w", "60", "-m", "5", "DIR", "p"], "such as 4gb"),
        (["-n", "3", "-w", "an hour", "DIR", "p"], "is no duration"),
        (["-n", "1", "-w", "60", "-t", "z", "DIR", "p"], "must be any, local or one of a, b, c"),
        (["-n", "1", "-w", "60", "/no such folder", "p"], "No such file"),
        (["-n", "1", "-w", "60", "-s", "/no such file", "DIR", "p"], "no file that this user can read"),
        (["-n", "1", "-w", "60", "DIR"], "must be followed by DIR and PROGRAM"),
        (["-n", "1", "-w", "60", "DIR", "./none"], "and no -b builds it"),
        (["-n", "1", "-w", "60", "DIR", "DIR/none"], "and no -b builds it"),
        (["-n", "1", "-f", "/dev/null"], "-f LIST: each line has its own options"),
        (["-f", "/dev/null", "DIR"], "-f LIST: each line has its own options"),
        (["-f", "/dev/null"], "/dev/null: has no submissions"),
    ],
)
def test_a_wrong_request_is_refused_at_once(site: Site, words: list[str], problem: str) -> None:
    status, text = site.run(mgsub.main, *(str(site.folder) if word == "DIR" else word for word in words))
    assert status == 2
    assert problem in text
    assert list((site.home / "incoming").iterdir()) == []


def test_a_batch_is_left_whole_or_not_at_all(site: Site) -> None:
    batch = site.folder.parent / "batch"
    line = f"-n 1 -w 60 '{site.folder}' ./p"
    batch.write_text(f"# a comment\n\n{line} one\n{line} two  # with a remark\n")
    ticket = site.submit("-f", str(batch))
    site.centre.run_pass()
    assert [job["ticket"] for job in site.jobs()] == [ticket, ticket]
    batch.write_text(f"{line} one\n-n 0 -w 60 '{site.folder}' ./p\n")
    status, text = site.run(mgsub.main, "-f", str(batch))
    assert status == 2
    assert "batch, line 2: " in text
    assert list((site.home / "incoming").iterdir()) == []


def test_exit_statuses_of_mgstat(site: Site) -> None:
    hint = "no jobs as of the last pass, never; mgstat TICKET shows newer ones\n"
    assert site.run(mgstat.main) == (0, hint)
    ticket = site.submit()
    status, text = site.run(mgstat.main, ticket)
    assert (status, text) == (3, f"{ticket}: waits in the drop box for the next pass\n")
    site.centre.run_pass()
    assert site.run(mgstat.main, ticket)[0] == 3
    status, text = site.run(mgstat.main, "a.9")
    assert (status, text) == (1, "Error: a.9: no such job or ticket\n")
    site.run(mgstop.main, "a.1")
    site.centre.run_pass()
    site.centre.run_pass()
    assert site.run(mgstat.main, "a.1")[0] == 0


def test_a_cluster_that_cannot_be_reached_is_shown_with_the_age_of_what_is_known(site: Site) -> None:
    site.submit()
    site.centre.run_pass()
    site.centre.cut.add("b")
    site.centre.run_pass()
    (job,) = site.jobs("a.1")
    assert "b unreachable, as of " in job["reason"]
    status, text = site.run(mgstat.main, "--queues")
    assert status == 0
    assert "not for 1 pass " in text


def test_what_another_cluster_has_written_is_shown_in_printable_form(site: Site) -> None:
    site.submit()
    site.centre.run_pass()
    record = replace(site.record(), reason="\x1b[2J", rev=99)
    with Spool(site.home).change() as change:
        change.put(Queue.SENT, record)
    status, text = site.run(mgstat.main)
    assert status == 3
    assert "\x1b" not in text
    assert "[2J" in text


def test_a_pause_is_shown(site: Site) -> None:
    cluster_file = site.home / "cluster.toml"
    cluster_file.write_text(cluster_file.read_text().replace("[here]", '[here]\npause_sending_to = ["b"]'))
    status, text = site.run(mgstat.main, "--queues")
    assert status == 0
    b, c = text.splitlines()[1:3]
    assert b.endswith("sending there is paused (pause_sending_to)")
    assert "paused" not in c


def test_an_unconfirmed_hand_over_is_shown_as_requested(site: Site) -> None:
    site.centre.network = ["good", LOST]
    site.submit()
    site.centre.run_pass()
    (job,) = site.jobs()
    assert job["state"] == "Requested"
    assert "hand-over to b unconfirmed; since " in job["reason"]


def test_mgstop_of_a_request_and_of_a_final_job(site: Site) -> None:
    site.centre.cut = {"b", "c"}
    site.submit()
    site.centre.run_pass()
    assert site.run(mgstop.main, "a.1") == (0, "a.1: stop requested\n")
    site.centre.run_pass()
    assert site.record().state == "Stopped"
    assert site.run(mgstop.main, "a.1") == (0, "a.1: is Stopped already\n")
    assert site.run(mgstop.main, "a.7")[0] == 1


def test_mgstop_of_many_jobs_leaves_files_that_are_taken(site: Site) -> None:
    records = [Record(gid=f"a.{number}", user=USER, src="a", cores=20, walltime=60) for number in range(1, 1002)]
    with Spool(site.home).change() as change:
        change.put_all(Queue.REQUEST, records)
    assert site.run(mgstop.main, *(one.gid for one in records))[0] == 0
    site.centre.run_pass()
    assert {record.state for _, record in site.centre.where().values()} == {"Stopped"}


def test_a_site_without_cluster_toml_has_none_of_this(tmp_path: Path) -> None:
    for program in (mgsub.main, mgstat.main):
        result = CliRunner().invoke(program, [], env={"MG_HOME": str(tmp_path)})
        assert result.exit_code == 1
        assert "this site has no other clusters" in result.output


@pytest.mark.parametrize("program", [mgsub.main, mgstat.main, mgstop.main])
def test_each_program_has_help(program: click.Command) -> None:
    result = CliRunner().invoke(program, ["--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_ages_and_amounts() -> None:
    assert [show_age(seconds) for seconds in (-5, 59, 120, 7200, 200_000)] == ["0 s", "59 s", "2 min", "2 h", "2 d"]
    assert [show_bytes(count) for count in (0, 5, 2048, 3 << 30)] == ["-", "5 B", "2.0 KiB", "3.0 GiB"]


def test_the_home_itself_is_no_jobs_folder(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(pw_dir=str(site.folder.parent), pw_name="root", pw_uid=0, pw_gid=0, pw_shell="/bin/sh")
    monkeypatch.setattr("pwd.getpwuid", lambda _: entry)
    status, text = site.run(mgsub.main, "-n", "4", "-w", "1:00", str(site.folder.parent), "./p")
    assert status == 2
    assert "is the home folder, or above it: a job needs a folder of its own" in text
    monkeypatch.setattr("pwd.getpwnam", lambda _: SimpleNamespace(pw_dir="/home/u/d"))
    site.centre.file = replace(site.centre.file, here=replace(site.centre.file.here, allowed_roots=("/home",)))
    site.centre.submit(dir="/home/u/d")
    site.centre.run_pass()
    assert "is the home folder" in site.record().reason
