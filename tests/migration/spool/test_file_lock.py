"""One process holds a file's lock; another waits for it no longer than its limit."""

from pathlib import Path

import pytest

from migration.spool.file_lock import LockHeldError, file_lock


def test_one_holds_it_and_the_other_waits_no_longer_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = r"lock: another process has held it for 0\.1 s"
    with file_lock(path, 0), pytest.raises(LockHeldError, match=held), file_lock(path, 0.1):
        raise AssertionError
    with file_lock(path, 0):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"), file_lock(tmp_path / "lock", 0):
        raise AssertionError
