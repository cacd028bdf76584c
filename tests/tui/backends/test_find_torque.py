"""PBS and Torque have programs of the same names: which of them this host has is told by what is beside ``qstat``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.backends.find_torque import find_torque


def installed(prefix: Path, *, library: bool, momctl: bool) -> dict[str, str]:
    for folder in ("bin", "sbin", "lib", "home"):
        (prefix / folder).mkdir(parents=True)
    program = prefix / "bin" / "qstat"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    if library:
        (prefix / "lib" / "libtorque.so.2").touch()
    if momctl:
        (prefix / "sbin" / "momctl").touch()
    return {"PATH": str(prefix / "bin"), "PBS_HOME": str(prefix / "home")}


def test_a_host_without_a_qstat_or_with_that_of_pbs_has_no_torque(tmp_path: Path) -> None:
    assert find_torque({"PATH": str(tmp_path)}) is None
    assert find_torque(installed(tmp_path / "pbs", library=False, momctl=False)) is None


@pytest.mark.parametrize("library", [True, False])
def test_a_torque_is_found_also_without_its_library(tmp_path: Path, *, library: bool) -> None:
    place = find_torque(installed(tmp_path, library=library, momctl=True))
    assert place is not None
    assert (place.library is not None) is library
    assert place.program("qdel") == str(tmp_path / "bin" / "qdel")


def test_the_server_is_the_one_named_then_the_environments_then_the_homes(tmp_path: Path) -> None:
    environment = installed(tmp_path, library=True, momctl=False)
    (tmp_path / "home" / "server_name").write_text("trq0,trq9\n")
    for named, more, server in (("", {}, "trq0"), ("", {"PBS_DEFAULT": "trq1"}, "trq1"), ("a", {}, "a")):
        place = find_torque({**environment, **more}, named)
        assert place is not None
        assert place.server == server
