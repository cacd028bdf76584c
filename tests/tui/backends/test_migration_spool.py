"""What the console reads of migration's files: cheaply, for this host's own server; what it may not read it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from migration.passes.source.notes_on_other_clusters import read_notes
from tests.tui.files_of_migrating_jobs import put_files
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.migration_spool import MIGRATING_JOB, MigrationSpool
from tui.model.migrating_jobs import Migration


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mg"
    monkeypatch.setenv("MG_HOME", str(folder))
    return folder


class AwayBackend(ScriptedBackend):
    """A server on another host."""

    def shared_audit(self) -> Path:
        return None  # type: ignore[return-value]


def open_spool() -> MigrationSpool:
    return MigrationSpool(ScriptedBackend(), lambda: NOON_S)


def found(spool: MigrationSpool) -> Migration:
    migration = spool.read_migration()
    assert migration is not None
    return migration


def test_jobs_are_counted_by_where_they_are(home: Path) -> None:
    put_files(home)
    migration = found(open_spool())
    assert (migration.requested, migration.here, migration.guests) == (1, 1, 1)
    assert (migration.sent, migration.on_the_way) == ({"b": 2, "c": 1}, {"b": 1, "c": 1})
    assert migration.jobs == ("a.1", "a.2", "a.3", "a.4", "a.5", "b.7", "a.6")


def test_a_second_look_reads_only_what_was_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_files(home)
    spool = open_spool()
    first = found(spool)
    monkeypatch.setattr("migration.spool.spool.load", None)
    monkeypatch.setattr("migration.config.read_cluster_file.parse_toml", None)
    assert found(spool).records["a.1"] is first.records["a.1"]


def test_there_is_nothing_without_the_file_and_without_others(home: Path) -> None:
    assert open_spool().read_migration() is None
    home.mkdir()
    (home / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/scratch"\nssh = "mg@a"\n'
    )
    assert open_spool().read_migration() is None


def test_another_hosts_server_is_not_asked_about_this_hosts_files(home: Path) -> None:
    put_files(home)
    assert MigrationSpool(AwayBackend()).read_migration() is None


def test_who_may_read_only_the_copies_gets_no_arguments(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_files(home)
    assert not found(open_spool()).in_part
    monkeypatch.setattr("migration.spool.public_queue_copy.os.access", lambda *_: False)
    migration = found(open_spool())
    assert migration.in_part
    assert (migration.records["a.1"].localid, migration.records["a.1"].args) == ("8123", ())


@pytest.mark.parametrize("name", ["cluster.toml", "sent.q"])
def test_a_file_that_may_not_be_read_is_named(home: Path, name: str) -> None:
    put_files(home)
    (home / name).unlink()
    (home / name).mkdir()
    assert str(home / name) in found(open_spool()).problem
    with pytest.raises(BackendError, match=name):
        open_spool().read(MIGRATING_JOB, "a.1")


def test_a_stop_goes_by_the_wish_wherever_the_job_is(home: Path) -> None:
    put_files(home)
    spool = open_spool()
    assert spool.read(MIGRATING_JOB, "a.1") == {"state": "under way", "stop": ""}
    assert spool.read(MIGRATING_JOB, "a.6") == {"state": "End", "stop": ""}
    assert spool.read(MIGRATING_JOB, "a.77") is None
    with pytest.raises(BackendError, match="only mgstop is run here"):
        spool.run(("qdel", "1"))


def test_a_site_without_other_clusters_imports_nothing_of_migration() -> None:
    config = ("migration.config", "migration.config.mg_home_folder", "migration.config.parse_toml")
    code = (
        "import sys, tui.screen.app, tui.cli.read_commands.cluster_status\n"
        "from tests.tui.scripted_server import ScriptedBackend\n"
        "from tui.backends.migration_spool import MigrationSpool\n"
        "assert MigrationSpool(ScriptedBackend()).read_migration() is None\n"
        "names = [name for name in sys.modules if name.startswith(('migration.', 'policy.migration'))]\n"
        f"print(sorted(set(names) - set({config})))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("[]\n", "")


def test_a_pause_at_either_end_is_found(home: Path) -> None:
    put_files(home)
    notes = read_notes(home)
    answer = notes.of("b").answer
    assert answer is not None
    answer["paused"] = True
    notes.write(home)
    file = home / "cluster.toml"
    file.write_text(file.read_text() + '[here]\npause_sending_to = ["c"]\npause_taking_from = ["any"]\n')
    assert found(open_spool()).pauses == {
        "b": "takes no jobs of this cluster at the moment (its pause_taking_from); "
        "its jobs are not taken (pause_taking_from)",
        "c": "sending there is paused (pause_sending_to); its jobs are not taken (pause_taking_from)",
    }
