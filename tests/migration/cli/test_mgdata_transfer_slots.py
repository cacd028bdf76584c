"""The source's end of transfers: bounded over all targets, while questions always pass."""

from pathlib import Path

import pytest

from migration.cli import mgdata_ssh_forced_rsync_command
from migration.config.cluster_file import Limits

_slot = mgdata_ssh_forced_rsync_command._slot

SEND, TAKE = ["rsync-server", "--server", "--sender", "."], ["rsync-server", "--server", "."]


def test_transfers_wait_for_a_slot_of_their_direction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgdata_ssh_forced_rsync_command, "_SLOT_WITHIN_S", 0)
    limits = Limits(max_uploads=1, max_downloads=1)
    with _slot(tmp_path, limits, "al", SEND) as first, _slot(tmp_path, limits, "al", TAKE) as other_way:
        assert first
        assert other_way
        with (
            _slot(tmp_path, limits, "al", SEND) as second,
            _slot(tmp_path, limits, "al", ["state"]) as question,
        ):
            assert not second
            assert question
    with _slot(tmp_path, limits, "al", ["rsync-shared", "{}", "--server", "--sender"]) as again:
        assert again


def test_a_user_has_a_share_of_the_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgdata_ssh_forced_rsync_command, "_SLOT_WITHIN_S", 0)
    limits = Limits(max_uploads=4, max_transfers_per_user=2)
    with _slot(tmp_path, limits, "al", SEND) as first, _slot(tmp_path, limits, "al", SEND) as second:
        assert first
        assert second
        with _slot(tmp_path, limits, "al", SEND) as third, _slot(tmp_path, limits, "bo", SEND) as other:
            assert not third
            assert other
