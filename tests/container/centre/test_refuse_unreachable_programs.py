"""A centre says at once that its programs cannot be run, before any cluster is started."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from container import testbed as testbeds
from container.centre import centre as centres
from container.centre.centre_spec import CentreSpec, Programs
from container.testbed_spec import TestbedError


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ``up`` says until it would start the first cluster."""

    def refuse(*_: object) -> None:
        raise TestbedError("would start")

    monkeypatch.setattr(testbeds, "status", lambda *_: SimpleNamespace(exists=False))
    monkeypatch.setattr(testbeds, "up", refuse)
    monkeypatch.setattr(testbeds, "down", lambda *_: False)
    return []


def test_programs_in_a_closed_folder_are_named_with_that_folder(said: list[str], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "mgsched").write_text("#!/bin/sh\n")
    with pytest.raises(TestbedError, match="would start"):
        centres.up(CentreSpec(), Programs(closed), say=said.append)
    assert said[0].startswith(f"warning: account mg cannot run the programs in {closed}: ")
    assert said[0].endswith(" is closed to it")


def test_a_folder_without_programs_is_refused(said: list[str], tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=f"{tmp_path} has no program mgsched"):
        centres.up(CentreSpec(), Programs(tmp_path), say=said.append)
    assert said == []
