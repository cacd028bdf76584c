"""Answers of a source: whatever they have, the outcome is a checked value or a failed transfer."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.target_job.phases.room_for_job_folder import Survey, read_surveys
from migration.transfer import json_from_source
from migration.transfer.json_from_source import check_path, check_size, check_text, check_time_ns, read_answer
from migration.transfer.ssh_and_rsync_to_source import TransferError
from migration.transfer.upload_manifest_and_changed_files import read_manifest

TEXTS = st.text(st.characters(), max_size=4) | st.sampled_from(("r", "/s", "f", "../x", "\ud800", "\udcff"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda value: st.lists(value, max_size=7) | st.dictionaries(TEXTS, value, max_size=3),
)
SHARED = st.fixed_dictionaries(dict.fromkeys(("link", "path", "size", "mtime_ns"), VALUES))
SURVEYS = st.fixed_dictionaries(
    {"problem": TEXTS | VALUES, "bytes": st.integers() | VALUES, "refused": VALUES, "shared": st.lists(SHARED) | VALUES}
)
LINES = st.lists(st.tuples(TEXTS | VALUES, TEXTS | SURVEYS | VALUES, VALUES) | VALUES, max_size=3)


@given(st.binary() | st.builds(lambda lines: "\n".join(map(json.dumps, lines)).encode(), LINES | st.lists(SURVEYS)))
def test_nothing_but_a_transfer_error_comes_of_any_answer(data: bytes) -> None:
    for read in (read_manifest, Survey.read, read_surveys):
        with contextlib.suppress(TransferError):
            read(data)


@given(SURVEYS)
def test_what_is_read_of_a_survey_can_be_used(data: Any) -> None:
    try:
        survey = Survey.read(json.dumps(data).encode())
    except TransferError:
        return
    assert survey.size >= 0
    for text in (survey.problem, *survey.refused, *(file.path for file in survey.shared)):
        text.encode("utf-8", "surrogateescape")
    assert all(file.path.startswith("/") and file.size >= 0 for file in survey.shared)


def test_an_answer_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_from_source, "_MOST_BYTES", 10)
    assert read_answer(b'"aaaaaaaa"', check_text) == "aaaaaaaa"
    with pytest.raises(TransferError, match="has 11 bytes; allowed are 10"):
        read_answer(b'"aaaaaaaaa"', check_text)


def test_names_that_are_no_utf_8_and_times_before_1970_and_after_all_days_are_taken() -> None:
    assert check_path("d/\udcff") == "d/\udcff"
    assert (check_size(2**63 - 1), check_time_ns(-1), check_time_ns((2**63 - 1) * 10**9)) == (
        2**63 - 1, -1, (2**63 - 1) * 10**9,
    )  # fmt: skip
