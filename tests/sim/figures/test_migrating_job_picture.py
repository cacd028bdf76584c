"""The picture of docs/migration.md has every state, and no way from one to another that the table does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.migration.job_states_and_transitions import DOWNLOADING, REQUESTED, STATES, TRANSITIONS, next_state
from sim.figures.migrating_job_picture import FAILS_FROM, GOES_BACK_FROM, IN_PLACE, NAME, WAY, draw, main

ROOT = Path(__file__).parents[3]


def test_picture_in_the_folder_is_drawn_from_the_code_as_it_is() -> None:
    file = ROOT / "docs" / "pictures" / f"{NAME}.svg"
    assert draw().show() == file.read_text(encoding="utf-8"), "make pictures"
    assert f"](pictures/{NAME}.svg)" in (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")


def test_every_state_has_a_box() -> None:
    text = draw().show()
    assert [state for state in STATES if f">{state}</text>" not in text] == []


def test_the_usual_way_is_one_way() -> None:
    assert [next_state(*line).to for line in WAY[:-1]] == [state for state, _ in WAY[1:]]
    assert next_state(*WAY[-1]).to == DOWNLOADING
    assert next_state(*IN_PLACE[0]).to == IN_PLACE[1][0]


def test_failures_and_jobs_given_back_are_those_of_the_table() -> None:
    for event, to, states in (("failed", DOWNLOADING, FAILS_FROM), ("given-back", REQUESTED, GOES_BACK_FROM)):
        lines = {line.state: line.to for line in TRANSITIONS if line.event == event}
        assert lines == dict.fromkeys(states, to)


def test_it_is_drawn_into_the_folder_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert [file.name for file in tmp_path.iterdir()] == [f"{NAME}.svg"]
    assert f"{NAME}.svg" in capsys.readouterr().out
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
