"""Draws the pictures of docs/developing.md: the layers of the code, as pyproject.toml has them, and the life of a pass.

``python -m sim.figures.code_layer_pictures FOLDER`` draws both. The same contracts draw the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sim.figures.svg import Drawing, draw_all
from sim.workload.read_toml_file import read_toml

_CONTRACTS = Path(__file__).resolve().parents[2] / "pyproject.toml"
_FOLDERS = {
    "tui": "console, command line",
    "sim": "simulator",
    "migration": "jobs to other clusters",
    "hooks": "inside PBS",
    "policy": "decides",
}
_FILLS = {"tui": "#9ecae9", "sim": "#fdc58a", "migration": "#e3b7d8", "hooks": "#a8dba8", "policy": "#f3e48c"}
_GREY, _EDGE = "#6a6a6a", "#8a8a8a"
_COLUMN, _GAP, _ROW, _LEFT, _TOP = 214, 22, 32, 16, 68


def layers_of(contracts: Sequence[Mapping[str, Any]], folder: str) -> list[str]:
    """The layers inside a folder from the highest to the lowest; names on one line (``a | b``) are siblings."""
    (layers,) = [contract["layers"] for contract in contracts if contract.get("containers") == [folder]]
    return list(layers)


def draw_layers() -> Drawing:
    """A column for each folder, a box for each layer."""
    contracts = read_toml(_CONTRACTS)["tool"]["importlinter"]["contracts"]
    columns = {folder: layers_of(contracts, folder) for folder in _FOLDERS}
    most = max(map(len, columns.values()))
    width = 2 * _LEFT + len(columns) * _COLUMN + (len(columns) - 1) * _GAP
    drawing = Drawing(width, _TOP + most * _ROW + 62, "Layers of the code: imports point down, and to the right")
    for number, (folder, layers) in enumerate(columns.items()):
        x = _LEFT + number * (_COLUMN + _GAP)
        drawing.words(x + _COLUMN / 2, 28, f"{folder}/", "middle", bold=True)
        drawing.words(x + _COLUMN / 2, 46, _FOLDERS[folder], "middle", _GREY)
        if number:
            drawing.arrow((x - _GAP + 3, 24), (x - 4, 24), _GREY, 1.5)
        first = _TOP + (most - len(layers)) * _ROW
        for row, layer in enumerate(layers):
            y = first + row * _ROW
            drawing.box(x, y, _COLUMN, _ROW - 6, _FILLS[folder], _EDGE)
            drawing.words(x + _COLUMN / 2, y + 18, layer, "middle")
    y = _TOP + most * _ROW + 22
    drawing.words(
        _LEFT, y, "A module imports only modules of lower boxes in its column and of the folders to its right."
    )
    drawing.words(_LEFT, y + 20, "policy/ imports nothing else; container/ (the testbed) stands alone.", colour=_GREY)
    return drawing


class Step(NamedTuple):
    """A step of a pass: its name, what it does in short lines, and the file in hooks/ or policy/ to read."""

    name: str
    lines: tuple[str, ...]
    file: str


STEPS = (
    Step("read", ("one status of the server", "by pbs_ifl, as a snapshot"), "hooks/translate/snapshot.py"),
    Step("decide", ("starts, victims, the head,", "a reason for each other job"), "policy/cycle/engine.py"),
    Step("commit", ("the ledger goes to disk", "before anything is done"), "hooks/store/state_files.py"),
    Step("act", ("only what the queue's", "mode allows, within budget"), "hooks/act/apply_plan.py"),
    Step("record", ("journal, last pass, counts", "for console and explain"), "hooks/record/pass_as_journal_entry.py"),
)


def draw_pass() -> Drawing:
    """The five steps of a pass from left to right; below, what a pass leaves that is killed."""
    box, gap, top, height = 204, 24, 42, 112
    width = 2 * _LEFT + len(STEPS) * box + (len(STEPS) - 1) * gap
    drawing = Drawing(width, top + height + 74, "The life of a pass: read, decide, commit, act, record")
    drawing.words(_LEFT, 24, "A pass of the periodic hook (hooks/entries/periodic.py), every 15 s", bold=True)
    for number, step in enumerate(STEPS):
        x = _LEFT + number * (box + gap)
        drawing.box(x, top, box, height, _FILLS["policy" if step.file.startswith("policy/") else "hooks"], _EDGE)
        drawing.words(x + box / 2, top + 24, step.name, "middle", bold=True)
        for row, line in enumerate(step.lines):
            drawing.words(x + box / 2, top + 50 + 18 * row, line, "middle")
        drawing.words(x + box / 2, top + height - 12, step.file.partition("/")[2], "middle", _GREY)
        if number:
            drawing.arrow((x - gap + 2, top + height / 2), (x - 3, top + height / 2), _GREY, 1.5)
    y = top + height + 16
    for first, last, text in (
        (0, 1, "killed here: nothing was done"),
        (2, 4, "killed here: the next pass goes on from the ledger"),
    ):
        x, end = _LEFT + first * (box + gap), _LEFT + last * (box + gap) + box
        drawing.line((x, y), (end, y), _GREY)
        drawing.words((x + end) / 2, y + 20, text, "middle", _GREY)
    drawing.words(_LEFT, top + height + 62, "Green: in hooks/. Yellow: in policy/, a pure function.", colour=_GREY)
    return drawing


PICTURES: Mapping[str, Callable[[], Drawing]] = {"code-layers": draw_layers, "code-pass": draw_pass}
"""The functions by the names of their files."""


def main(arguments: Sequence[str]) -> int:
    """Draw into the named folder."""
    return draw_all(PICTURES, arguments, "sim.figures.code_layer_pictures")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
