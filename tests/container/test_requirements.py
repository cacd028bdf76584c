"""What the machine lacks is said before anything is touched: what, where it was looked for, and what brings it."""

from __future__ import annotations

from pathlib import Path

import pytest

from container import requirements
from container.requirements import SERVER_PROGRAM, check_programs, check_root, find_pbs_exec, find_shortcomings
from container.spec import TestbedError


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A folder that looks like an installed PBS."""
    program = tmp_path / "pbs" / SERVER_PROGRAM
    program.parent.mkdir(parents=True)
    program.touch()
    return tmp_path / "pbs"


def test_the_given_installation_comes_before_all_others(install: Path, tmp_path: Path) -> None:
    conf = tmp_path / "pbs.conf"
    conf.write_text("PBS_EXEC=/elsewhere\n")
    assert find_pbs_exec(str(install), {"PBS_EXEC": "/nowhere"}, conf, tmp_path) == str(install)


def test_the_environment_comes_before_pbs_conf(install: Path, tmp_path: Path) -> None:
    conf = tmp_path / "pbs.conf"
    conf.write_text("PBS_EXEC=/elsewhere\n")
    assert find_pbs_exec(None, {"PBS_EXEC": str(install)}, conf, tmp_path) == str(install)


@pytest.mark.parametrize("line", ["PBS_EXEC={}", "  PBS_EXEC={}  ", 'PBS_EXEC="{}"'])
def test_pbs_conf_is_read_as_pbs_reads_it(install: Path, tmp_path: Path, line: str) -> None:
    conf = tmp_path / "pbs.conf"
    conf.write_text(f"# PBS_EXEC=/no\nPBS_HOME=/var\n{line.format(install)}\n")
    assert find_pbs_exec(None, {}, conf, tmp_path) == str(install)


def test_where_nothing_is_said_the_usual_place_is_taken(install: Path, tmp_path: Path) -> None:
    assert find_pbs_exec(None, {}, tmp_path / "absent", install) == str(install)


def test_a_place_that_is_named_and_wrong_is_refused_though_another_would_do(install: Path, tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"\$PBS_EXEC: /nowhere has no"):
        find_pbs_exec(None, {"PBS_EXEC": "/nowhere"}, tmp_path / "absent", install)


def test_where_there_is_no_pbs_all_places_looked_at_are_named(tmp_path: Path) -> None:
    with pytest.raises(TestbedError) as caught:
        find_pbs_exec(None, {}, tmp_path / "absent", tmp_path)
    for place in ("--pbs-exec", "$PBS_EXEC", str(tmp_path / "absent"), f"{tmp_path} has no {SERVER_PROGRAM}"):
        assert place in str(caught.value)


def test_somebody_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    with pytest.raises(TestbedError, match=r"needs root.*1234"):
        check_root()
    assert "needs root" in (find_shortcomings(None, {}) or "")


@pytest.mark.parametrize(("program", "package"), [("ip", "iproute2"), ("nsenter", "util-linux")])
def test_a_missing_program_is_named_with_its_debian_package(
    monkeypatch: pytest.MonkeyPatch, program: str, package: str
) -> None:
    def find_all_but_one(name: str, path: str) -> str | None:
        return None if name == program else f"{path}/{name}"

    monkeypatch.setattr("shutil.which", find_all_but_one)
    with pytest.raises(TestbedError, match=f"no program '{program}'.*package {package}"):
        check_programs()


def test_a_machine_without_the_data_stores_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: f"{path}/{name}")
    monkeypatch.setattr(requirements, "DATA_SERVICE_USER", "nobody-of-this-name")
    with pytest.raises(TestbedError, match="no user 'nobody-of-this-name'"):
        check_programs()
