"""Users' texts made safe for comments, messages and logs; doing it twice changes nothing more.

Characters that a terminal or a log would interpret instead of showing (control characters, changes of direction, line
ends) are written as escapes, ``\\x1b``.
"""

from __future__ import annotations

from collections.abc import Callable


def printable(text: str) -> str:
    """The text on one line, with an escape for each character that is not printable."""
    return replace_unprintable(text, _escape)


def replace_unprintable(text: str, show: Callable[[str], str]) -> str:
    """The text with what ``show`` returns in the place of each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else show(character) for character in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, such as a traceback. Lines after the first are indented, so that none can
    be taken for a new entry."""
    return "\n  ".join(printable(line) for line in text.splitlines())


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
