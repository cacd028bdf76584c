"""Draws the picture of docs/migration.md: a migrating job's states, their clusters, and the program that moves it on.

Every arrow is a line of the table in policy/migration/job_states_and_transitions.py.

``python -m sim.figures.migrating_job_picture FOLDER`` draws it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from policy.migration.job_states_and_transitions import (
    DOWNLOADED,
    DOWNLOADING,
    MAKING,
    OFFERED,
    REQUESTED,
    SUBMITTED,
    UPLOADING,
    WAITING,
    next_state,
)
from sim.figures.svg import Drawing, draw_all

NAME = "migrating-job"

WAY = (
    (REQUESTED, "offer"),
    (OFFERED, "accepted"),
    (WAITING, "upload"),
    (UPLOADING, "build"),
    (MAKING, "submit"),
    (SUBMITTED, "ended"),
)
"""The usual way at the source and at the target; what it ends with is drawn apart."""
IN_PLACE = ((REQUESTED, "start-here"), (SUBMITTED, "ended-here"))
FAILS_FROM, GOES_BACK_FROM = (UPLOADING, MAKING, SUBMITTED), (WAITING, UPLOADING, SUBMITTED)
"""Where a failure brings back what there is first, and where a job that has not run returns to its source."""

_PROGRAMS = {
    REQUESTED: "mgsched", OFFERED: "mgsched", WAITING: "mgproc", UPLOADING: "mgproc", MAKING: "mgproc",
    SUBMITTED: "mgrecv", DOWNLOADING: "mgproc",
}  # fmt: skip
"""The program that moves a job on from a state."""
_COLUMN = {REQUESTED: 1, OFFERED: 2, WAITING: 2, UPLOADING: 3, MAKING: 4, SUBMITTED: 5, DOWNLOADING: 6}
_LEFT, _STEP, _BOX, _HEIGHT = 24, 152, 112, 46
_TOP_ROW, _SOURCE_ROW, _TARGET_ROW = 58, 156, 296
_WORDS_Y, _FAIL_Y, _BACK_Y = 268, 372, 402
_SOURCE, _TARGET, _STATE, _FINAL, _PLAIN = "#eaf2fa", "#f8ecf4", "#ffffff", "#e9e9e9", "#fdf6d8"
_GREY, _EDGE, _LINE = "#5f5f5f", "#8a8a8a", "#4a4a4a"


def draw() -> Drawing:
    """The source's lane above, the target's below."""
    width = _LEFT + 7 * _STEP + _BOX + _LEFT
    drawing = Drawing(width, 520, "The life of a migrating job: states, programs and clusters")
    for y, height, fill, text in (
        (28, 200, _SOURCE, "source: its own cluster"),
        (252, 172, _TARGET, "target: another cluster"),
    ):
        drawing.box(8, y, width - 16, height, fill)
        drawing.words(16, y + 18, text, colour=_GREY, bold=True)
    _draw_source(drawing)
    _draw_target(drawing)
    for row, text in enumerate(
        (
            "A box has a state, and the program that moves the job on from it. mgstat shows Offered as Requested."
            " Without a build command there is no Making.",
            "mgsched is the source's pass and mgrecv the target's, each every minute. mgrecv starts mgproc, one process"
            " for each job.",
            "mgserve and mgdata are run by sshd: the one for the key of another cluster, the other for the key of one"
            " job.",
            "mgstop: a job that no target has is Stopped; at a target its local job is deleted, and what there is comes"
            " back first.",
        )
    ):
        drawing.words(16, 446 + 20 * row, text, colour=_GREY)
    return drawing


def _draw_source(drawing: Drawing) -> None:
    drop = _LEFT, _SOURCE_ROW
    _box(drawing, drop, ("drop box", "from mgsub"), _PLAIN)
    _state(drawing, REQUESTED, _SOURCE_ROW)
    _state(drawing, OFFERED, _SOURCE_ROW)
    _right(drawing, 0, _SOURCE_ROW + _HEIGHT / 2)
    back_y = _SOURCE_ROW + _HEIGHT - 10
    drawing.arrow((_x(2) - 3, back_y), (_x(1) + _BOX + 3, back_y), _LINE, 1.2, "4 3")
    drawing.words(_x(1) + _BOX + 20, back_y + 16, "no", "middle", _GREY)

    x, y = _x(1) + _BOX / 2, _TOP_ROW + _HEIGHT / 2
    drawing.line((x, _SOURCE_ROW - 2), (x, y), _LINE, 1.5)
    drawing.arrow((x, y), (_x(4) - 3, y), _LINE, 1.5)
    drawing.words(x + 8, y - 8, "this cluster can start it now: it runs in its own folder,", colour=_GREY)
    drawing.words(x + 8, y + 18, "nothing is copied", colour=_GREY)
    started, ended = (next_state(*line).to for line in IN_PLACE)
    _box(drawing, (_x(4), _TOP_ROW), (started, "mgsched"), _STATE)
    _right(drawing, 4, y)
    _box(drawing, (_x(5), _TOP_ROW), (ended, ""), _FINAL)

    folder = _x(3), _SOURCE_ROW
    drawing.box(*folder, 4 * _STEP - (_STEP - _BOX), _HEIGHT, _PLAIN, _EDGE)
    drawing.words(folder[0] + (4 * _STEP - 40) / 2, _SOURCE_ROW + 19, "the job's folder", "middle", bold=True)
    drawing.words(
        folder[0] + (4 * _STEP - 40) / 2, _SOURCE_ROW + 37, "mgdata reads and writes it as the job's user", "middle",
        _GREY,
    )  # fmt: skip


def _draw_target(drawing: Drawing) -> None:
    for state in (WAITING, UPLOADING, MAKING, SUBMITTED, DOWNLOADING):
        _state(drawing, state, _TARGET_ROW)
    for state, event in WAY:
        column = _COLUMN[state]
        if column == _COLUMN[next_state(state, event).to]:
            x = _x(column) + _BOX / 2
            drawing.arrow((x, _SOURCE_ROW + _HEIGHT + 3), (x, _TARGET_ROW - 3), _LINE, 1.5)
            drawing.words(x + 7, _WORDS_Y, f"{event}: mgserve", colour=_GREY)
        else:
            _right(drawing, column, _SOURCE_ROW + 14 if column < _COLUMN[OFFERED] else _TARGET_ROW + _HEIGHT / 2)
    _right(drawing, _COLUMN[DOWNLOADING], _TARGET_ROW + _HEIGHT / 2)
    for row, event in enumerate(DOWNLOADED.values()):
        y = _TARGET_ROW - 12 + 26 * row
        drawing.box(_x(7), y, _BOX, 26, _FINAL, _EDGE)
        drawing.words(_x(7) + _BOX / 2, y + 18, next_state(DOWNLOADING, event).to, "middle", bold=True)
    above, there = _SOURCE_ROW + _HEIGHT + 3, _TARGET_ROW - 3
    for state, from_y, to_y, text in ((UPLOADING, above, there, "files"), (DOWNLOADING, there, above, "results")):
        x = _x(_COLUMN[state]) + _BOX / 2
        drawing.arrow((x, from_y), (x, to_y), _LINE, 1.5)
        drawing.words(x + 7, _WORDS_Y, text, colour=_GREY)

    below = _TARGET_ROW + _HEIGHT
    for state in FAILS_FROM:
        x = _x(_COLUMN[state]) + _BOX / 2 + 22
        drawing.line((x, below + 1), (x, _FAIL_Y), _LINE, 1.2, "4 3")
    end = _x(_COLUMN[next_state(FAILS_FROM[0], "failed").to]) + _BOX / 2
    drawing.line((_x(_COLUMN[FAILS_FROM[0]]) + _BOX / 2 + 22, _FAIL_Y), (end, _FAIL_Y), _LINE, 1.2, "4 3")
    drawing.arrow((end, _FAIL_Y), (end, below + 3), _LINE, 1.2, "4 3")
    drawing.words(end + 8, _FAIL_Y + 4, "failed: logs come back first", colour=_GREY)

    for state in GOES_BACK_FROM:
        x = _x(_COLUMN[state]) + _BOX / 2 - 22
        drawing.line((x, below + 1), (x, _BACK_Y), _LINE, 1.2, "1.5 3")
    to = _x(_COLUMN[next_state(GOES_BACK_FROM[0], "given-back").to]) + _BOX / 2
    drawing.line((_x(_COLUMN[GOES_BACK_FROM[-1]]) + _BOX / 2 - 22, _BACK_Y), (to, _BACK_Y), _LINE, 1.2, "1.5 3")
    drawing.arrow((to, _BACK_Y), (to, _SOURCE_ROW + _HEIGHT + 3), _LINE, 1.2, "1.5 3")
    drawing.words(to - 10, _BACK_Y - 22, "given back:", "end", _GREY)
    drawing.words(to - 10, _BACK_Y - 4, "nothing of it has run", "end", _GREY)


def _x(column: int) -> int:
    return _LEFT + column * _STEP


def _state(drawing: Drawing, state: str, y: float) -> None:
    _box(drawing, (_x(_COLUMN[state]), y), (state, _PROGRAMS[state]), _STATE)


def _box(drawing: Drawing, at: tuple[float, float], words: tuple[str, str], fill: str) -> None:
    drawing.box(*at, _BOX, _HEIGHT, fill, _EDGE)
    middle = at[0] + _BOX / 2
    drawing.words(middle, at[1] + (19 if words[1] else 28), words[0], "middle", bold=True)
    if words[1]:
        drawing.words(middle, at[1] + 37, words[1], "middle", _GREY)


def _right(drawing: Drawing, column: int, y: float) -> None:
    """An arrow from the box of a column to the next one's."""
    drawing.arrow((_x(column) + _BOX + 3, y), (_x(column + 1) - 3, y), _LINE, 1.5)


def main(arguments: Sequence[str]) -> int:
    """Draw into the named folder."""
    return draw_all({NAME: draw}, arguments, "sim.figures.migrating_job_picture")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
