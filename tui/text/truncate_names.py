"""Truncates names that are too long for their column so that they stay distinct.

Among lengths of the end to keep that leave equally many names of the column distinct, the one that cuts nearest to the
middle is taken; names of one cluster differ mostly at the end, but not always (``node7.hpc.example.org``).
"""

from __future__ import annotations

from collections.abc import Collection

from rich.cells import set_cell_size

from tui.text.screen_line import ELLIPSIS, Line, fit, fit_line, safe, width

NO_TAIL = 0


def find_tail(texts: Collection[str], cells: int, before: int | None = None) -> int:
    """The number of cells of the end to keep so that most texts stay distinct when cut to ``cells``.

    The value found ``before`` is kept as long as it keeps all texts distinct, so that names do not jump.
    """
    different = set(texts)
    if cells < 2 or all(width(text) <= cells for text in different):
        return NO_TAIL if before is None or before >= cells else before
    middle = (cells - 1) // 2
    tails = sorted(range(cells), key=lambda tail: abs(tail - middle))
    if before is not None and before < cells:
        tails.insert(0, before)
    best, most = tails[0], 0
    for tail in tails:
        apart = len({cut(text, cells, tail) for text in different})
        if apart > most:
            best, most = tail, apart
        if apart == len(different):
            break
    return best


def cut(text: str, cells: int, tail: int) -> str:
    """The text in at most ``cells`` cells; if too long, an ellipsis comes before its last ``tail`` cells."""
    if width(text) <= cells:
        return text
    head = cells - tail - 1
    if text.isascii():
        return text[:head] + ELLIPSIS + (text[-tail:] if tail else "")
    return set_cell_size(text, head) + ELLIPSIS + _end(text, tail)


def _end(text: str, cells: int) -> str:
    """The last ``cells`` cells of a text, padded on the left if a wide character does not fit."""
    end = text[-cells:] if cells else ""
    while width(end) > cells:
        end = end[1:]
    return fit(end, cells, ">")


def cut_line(line: Line, cells: int, tail: int) -> Line:
    """The line in exactly so many cells: padded, or cut like :func:`cut`, the end in the role of the last piece."""
    text = "".join(safe(piece) for piece, _ in line)
    if not tail or width(text) <= cells:
        return fit_line(line, cells)
    return *fit_line(line, cells - tail), (_end(text, tail), line[-1][1])
