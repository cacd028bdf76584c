"""A folder's lock: one holder at a time, and none once that has ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.store.folder_lock import locked, open_lock


def test_a_folder_is_locked_for_one_at_a_time(tmp_path: Path) -> None:
    with locked(open_lock(tmp_path)):
        with pytest.raises(BlockingIOError), locked(open_lock(tmp_path)):
            pass
        with pytest.raises(BlockingIOError), locked(open_lock(tmp_path)):
            pytest.fail("a refused lock must not unlock the holder's")
    with locked(open_lock(tmp_path)):
        pass


def test_the_lock_of_a_process_that_ended_does_not_stay(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        with locked(open_lock(tmp_path)):
            os._exit(0)
    os.waitpid(child, 0)
    with locked(open_lock(tmp_path)):
        pass
