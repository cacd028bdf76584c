"""The root helper as root runs it: as a program, for the account ``guest``, which the tests alone know."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.migration.as_user.root_helper_for_test_account import use_helper


@pytest.fixture
def landing() -> Iterator[Path]:
    """A folder that every user may enter and write to, as pytest's own are not."""
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    folder = Path(tempfile.mkdtemp(prefix="mg-landing-"))
    folder.chmod(stat.S_ISVTX | 0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _helper_of_this_tree(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    use_helper(monkeypatch, tmp_path_factory.mktemp("helper"))
