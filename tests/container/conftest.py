"""What stands in for podman."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def podman_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called podman, first on the path, that the test writes."""
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return program
