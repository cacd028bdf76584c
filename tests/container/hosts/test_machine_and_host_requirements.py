"""What the machine lacks is said before anything is touched: what, where it was looked for, and what brings it."""

from __future__ import annotations

from pathlib import Path

import pytest

from container.hosts import machine_and_host_requirements
from container.hosts.machine_and_host_requirements import (
    SERVER_PROGRAM,
    check_host,
    check_podman,
    check_root,
    find_pbs_exec,
    find_shortcomings,
)
from container.testbed_spec import TestbedError


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


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """The root folder of a host that has all that PBS and the testbed call on it."""
    programs = tmp_path / "host" / "usr" / "bin"
    programs.mkdir(parents=True)
    for program in machine_and_host_requirements.PACKAGES:
        (programs / program).symlink_to(f"/nowhere/{program}")
    (tmp_path / "host" / "etc").mkdir()
    (tmp_path / "host" / "etc" / "passwd").write_text("postgres:x:100:102::/var/lib/postgresql:/bin/bash\n")
    return tmp_path / "host"


def test_a_host_with_everything_will_do_though_its_links_lead_elsewhere_on_the_machine(host: Path) -> None:
    check_host(host, "host t")


@pytest.mark.parametrize(
    ("program", "package"), [("ip", "iproute2"), ("nsenter", "util-linux"), ("psql", "postgresql")]
)
def test_a_missing_program_is_named_with_its_debian_package(host: Path, program: str, package: str) -> None:
    (host / "usr" / "bin" / program).unlink()
    with pytest.raises(TestbedError, match=f"host t has no program '{program}'.*package {package}"):
        check_host(host, "host t")


def test_a_host_without_the_data_stores_user_is_told(host: Path) -> None:
    (host / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    with pytest.raises(TestbedError, match=r"host t has no user 'postgres'.*package postgresql"):
        check_host(host, "host t")


def test_a_machine_without_podman_is_told_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match=rf"no program 'podman' in {tmp_path}; .*packages podman, runc, netavark"):
        check_podman()
