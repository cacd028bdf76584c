"""What a console under test stands on, unless a module says otherwise: a scripted server and an audit file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.scripted import ScriptedBackend


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()
