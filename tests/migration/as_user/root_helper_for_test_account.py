"""The root helper of this tree as a program, with an account that only the tests know."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from migration.as_user import root_helper_command
from migration.as_user.call_root_helper import run_as as do
from migration.programs.run_external_program_with_limits import Finished

REPO = Path(__file__).parents[3]


def use_helper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: str = "") -> None:
    """Have the helper of this tree; ``before`` is done first in each of its processes."""
    script = tmp_path / "mguser"
    script.write_text(
        f"#!{sys.executable}\nimport pwd, sys\nsys.path.insert(0, {str(REPO)!r})\n"
        "from migration.cli.for_service.mguser_root_helper_entry import main\n"
        "from tests.migration.fake_user_account import find_account\n"
        f"pwd.getpwnam = find_account\n{before}\nmain()\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(root_helper_command, "helper_argv", lambda: [str(script)])


def build(folder: Path | str, command: str, log: str = "new", **more: Any) -> Finished:
    return do(["build", log], user="guest", cwd=str(folder), stdin=command.encode(), **more)
