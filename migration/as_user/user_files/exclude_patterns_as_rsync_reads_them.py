"""Which entries of a folder exclude patterns leave out, as rsync does (its manual, "PATTERN MATCHING RULES").

An upload is rsync's own; what is looked at before it, and which results go back, is decided here by the same rules.
rsync compares bytes, so names are compared as bytes too.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

_WILD = re.compile(rb"[*?[]")
_CLASS_NAME = re.compile(rb"\[:([^]]*):\]")
_CLASSES = MappingProxyType(
    {
        b"alpha": string.ascii_letters, b"digit": string.digits, b"alnum": string.ascii_letters + string.digits,
        b"lower": string.ascii_lowercase, b"upper": string.ascii_uppercase, b"punct": string.punctuation,
        b"space": string.whitespace, b"blank": " \t", b"xdigit": string.hexdigits,
        b"graph": "".join(map(chr, range(33, 127))), b"print": "".join(map(chr, range(32, 127))),
        b"cntrl": "".join(map(chr, (*range(32), 127))),
    }
)  # fmt: skip
_NEVER = b"(?!)"


class _Pattern(NamedTuple):
    """``expression`` matches a path that begins with a slash; that of a folder also ends with one if ``with_end``."""

    expression: re.Pattern[bytes]
    folders_only: bool
    with_end: bool

    def matches(self, path: bytes, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.expression.fullmatch(path + b"/" if self.with_end and is_folder else path) is not None


class Excluded:
    """What the patterns leave out. What is in a folder that is left out is so too."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_read(os.fsencode(pattern)) for pattern in patterns if pattern]
        self._folders: dict[str, bool] = {"": False}

    def has(self, path: str, *, is_folder: bool) -> bool:
        """Whether the entry at the relative path is left out."""
        above = path.rpartition("/")[0]
        if above not in self._folders:
            self._folders[above] = self.has(above, is_folder=True)
        return self._folders[above] or self._matches(b"/" + os.fsencode(path), is_folder)

    def _matches(self, path: bytes, is_folder: bool) -> bool:
        return any(pattern.matches(path, is_folder) for pattern in self._patterns)


def _read(pattern: bytes) -> _Pattern:
    folders_only = len(pattern) > 1 and pattern.endswith(b"/")
    pattern = pattern[:-1] if folders_only else pattern
    is_wild = _WILD.search(pattern) is not None
    rest = pattern[1:] if pattern.startswith(b"/") else pattern
    text = _begin(pattern) + (_expression(rest) if is_wild else re.escape(rest))
    return _Pattern(re.compile(text, re.DOTALL), folders_only, pattern.endswith(b"***"))


def _begin(pattern: bytes) -> bytes:
    """What stands in a path before that which the pattern matches, as a regular expression."""
    if pattern.startswith(b"/"):
        return b"/"
    if b"**" in pattern:
        return b"" if pattern.startswith(b"**") else b".*/"
    # As many names at the end of the path as the pattern has.
    return rb".*/(?=[^/]*(?:/[^/]*){%d}\Z)" % pattern.count(b"/")


def _expression(pattern: bytes) -> bytes:
    """A pattern with wildcards as a regular expression; one that never matches if it cannot be read."""
    found, at = [], 0
    while at < len(pattern):
        letter = pattern[at : at + 1]
        if letter == b"*":
            stars = len(pattern) - at - len(pattern[at:].lstrip(b"*"))
            found.append(b"[^/]*" if stars == 1 else b".*")
            at += stars
            continue
        if letter == b"?":
            found.append(b"[^/]")
        elif letter == b"[":
            letters, at = _read_class(pattern, at + 1)
            found.append(b"[%s]" % b"".join(map(re.escape, letters)) if letters else _NEVER)
        elif letter == b"\\":
            at += 1
            found.append(re.escape(pattern[at : at + 1]) or _NEVER)
        else:
            found.append(re.escape(letter))
        at += 1
    return b"".join(found)


def _read_class(pattern: bytes, at: int) -> tuple[list[bytes], int]:
    """The letters that a class takes, which begins at ``at``, and where it ends: at the end of the pattern, and without
    a letter, if it cannot be read. No class takes a slash.
    """
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    taken: set[int] = set()
    before, begin = 0, at
    while at == begin or pattern[at : at + 1] != b"]":
        name = _CLASS_NAME.match(pattern, at)
        if name is not None:
            letters = _CLASSES.get(name[1])
            if letters is None:
                return [], len(pattern)
            taken.update(letters.encode("ascii"))
            before, at = 0, name.end()
            continue
        is_range = pattern[at : at + 1] == b"-" and before and pattern[at + 1 : at + 2] not in (b"", b"]")
        at += bool(is_range)
        at += pattern[at : at + 1] == b"\\"
        if at >= len(pattern):
            return [], len(pattern)
        taken.update(range(before, pattern[at] + 1) if is_range else (pattern[at],))
        before = 0 if is_range else pattern[at]
        at += 1
    whole = set(range(256)) - taken if is_negated else taken
    return [bytes((letter,)) for letter in sorted(whole - {ord("/")})], at
