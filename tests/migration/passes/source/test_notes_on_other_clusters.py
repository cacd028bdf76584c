"""What a pass notes of other clusters: read as it was written, and a damaged file is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from migration.passes.source.notes_on_other_clusters import FILE, ClusterNotes, Notes, read_notes


def test_notes_come_back_as_they_were_written(tmp_path: Path) -> None:
    notes = Notes(clusters={"b": ClusterNotes()})
    notes.write(tmp_path)
    assert read_notes(tmp_path) == notes


@pytest.mark.parametrize("text", ["", "5", "[]", "[" * 200_000, '{"v": 1, "clusters": {}, "number": Infinity}'])
def test_a_damaged_file_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_notes(tmp_path) == Notes()
