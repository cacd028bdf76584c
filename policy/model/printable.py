"""Texts of users where other people, and programs, read them: comments, refusals, lines of a log.

What a terminal or a log would obey instead of showing (control characters, changes of direction, line ends) is written
as its escape, ``\\x1b``. Doing it twice changes nothing more.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, with an escape for each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def printable_lines(text: str) -> str:
    """The same of a text of several lines, such as a traceback: no line after the first can be taken for one that
    begins anew, since it is indented."""
    return "\n  ".join(printable(line) for line in text.splitlines())
