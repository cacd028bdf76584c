"""Fixtures of the tests of hooks/control: a fake clock, the files of the installed hook, an empty fake server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.control import early_pass
from tests.hooks.control.early_passes_by_fake_clock import QUIET, Clock
from tests.hooks.stand_in import pbs_ifl


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, fresh_server: None) -> Clock:
    made = Clock()
    monkeypatch.setattr(early_pass, "time", made)
    monkeypatch.setattr(early_pass, "SubmissionWait", lambda: made)
    monkeypatch.setattr(early_pass, "_read_age_s", lambda: 0.0)
    monkeypatch.setattr(early_pass, "signal", made)
    monkeypatch.setattr(pbs_ifl, "_pbs_ifl", None, raising=False)
    pbs_ifl.WORLD.update(server={"name": "server", "state_count": QUIET}, reservations={})
    return made


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for suffix in (".HK", ".PY", ".CF"):
        (tmp_path / f"pbsteer_periodic{suffix}").write_text("as it was")
    return tmp_path / "pbsteer_periodic.CF"


@pytest.fixture
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    yield
