"""A line of the screen as data: pieces of text, each with its role, measured in terminal cells.

Lines are output through :func:`fit_line` or :func:`plain` only, which remove all that a terminal would act on
(:func:`safe`). Roles (``good``, ``bad``, ``dim``, ...) add nothing that the words do not say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from policy.model.printable_text import replace_unprintable

Span = tuple[str, str]
"""A text and its role: ``""`` plain, ``dim``, ``bold``, ``title``, ``good``, ``warn``, ``bad``, ``key`` or ``mark``."""

Line = tuple[Span, ...]

ELLIPSIS = "…"
_CONTROL_PICTURES = 0x2400
_DELETE = 0x7F
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_DIGITS = " ▁▂▃▄▅▆▇█"
_LINES_KEPT = 512
"""So many fitted lines are kept: a key changes few of a screen's lines, and all of them are looked at."""
_ASCII = {
    **{ord(glyph): str(level) for level, glyph in enumerate(_DIGITS) if level},
    **dict(zip(map(ord, "█═░┃·×→←↑↓…●▸▾│─┌┐└┘╭╮╰╯≥≤°▬▲▼◀▐▌"), "#+-|.x><^v~*>v|-++++++++><'=!v<[]")),
}


def safe(text: str) -> str:
    """The text with everything that a terminal would act on, or not show, replaced by a visible glyph of one cell."""
    return replace_unprintable(text, _visible)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return "␡"
    return " " if unicodedata.category(character) == "Zs" else _REPLACEMENT


def width(text: str) -> int:
    """The width on a terminal in cells; wide characters take two."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int, align: str = "<") -> str:
    """The text in exactly so many cells: padded (``<`` text left, ``>`` right), or cut with an ellipsis."""
    missing = cells - width(text)
    if missing >= 0:
        return " " * missing + text if align == ">" else text + " " * missing
    if cells <= 0:
        return ""
    return set_cell_size(text, cells - 1) + ELLIPSIS


def plain(line: Line) -> str:
    """The line as text, without roles."""
    return "".join(safe(text) for text, _ in line)


@lru_cache(_LINES_KEPT)
def fit_line(line: Line, cells: int) -> Line:
    """The line in exactly so many cells: padded with blanks, or cut with an ellipsis."""
    room, fitted = cells, []
    for raw, role in line:
        text = safe(raw)
        taken = width(text)
        if taken > room:
            fitted.append((fit(text, room), role))
            return tuple(fitted)
        fitted.append((text, role))
        room -= taken
    if room:
        fitted.append((" " * room, ""))
    return tuple(fitted)


def spread(left: Line, right: Line, cells: int) -> Line:
    """One line with a left and a right end; if there is too little room, the left end is cut first."""
    room = cells - sum(width(text) for text, _ in right)
    return fit_line(right, cells) if room <= 0 else (*fit_line(left, room), *right)


def wrap(text: str, cells: int) -> list[str]:
    """The text in lines of at most so many cells, broken at blanks where possible."""
    cells = max(1, cells)
    lines, current = [], ""
    for word in text.split(" "):
        joined = f"{current} {word}" if current else word
        if width(joined) <= cells:
            current = joined
            continue
        if current:
            lines.append(current)
        current = word
        while width(current) > cells:
            head = set_cell_size(current, cells).rstrip() or current[0]
            lines.append(head)
            current = current[len(head) :]
    return [*lines, current] if current or not lines else lines


def wrapped(lines: Iterable[Line], cells: int) -> list[Line]:
    """Lines of at most so many cells: longer ones are broken at blanks, with their further lines indented."""
    found: list[Line] = []
    for line in lines:
        if sum(width(safe(text)) for text, _ in line) <= cells:
            found.append(line)
        else:
            found += _broken(line, cells)
    return found


_INDENT = "      "


def _broken(line: Line, cells: int) -> Iterable[Line]:
    current: list[Span] = []
    room = cells
    for text, role in line:
        for number, word in enumerate(safe(text).split(" ")):
            piece = f" {word}" if number else word
            if width(piece) > room and room < cells - len(_INDENT):
                yield tuple(current)
                current, room, piece = [(_INDENT, "")], cells - len(_INDENT), word
            current.append((piece, role))
            room -= width(piece)
    yield tuple(current)


def joined(parts: Iterable[Line], separator: str) -> Line:
    """The parts in a row, with a separator between them."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append((separator, "dim"))
        spans.extend(part)
    return tuple(spans)


def to_ascii(text: str) -> str:
    """The text in ASCII with the same width: bars and arrows as similar characters, anything else as question marks."""
    if text.isascii():
        return text
    return "".join(
        character if character.isascii() else _ASCII.get(ord(character), "?" * cell_len(character))
        for character in text
    )
