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
_ANY = frozenset(range(256))
_NO_SLASH = _ANY - {ord("/")}


class _Token(NamedTuple):
    """One of these letters; any number of them if ``repeats``."""

    letters: frozenset[int]
    repeats: bool = False


class _Pattern:
    """A pattern that is matched in a time that grows with the length of pattern and path alone, whatever stands in
    them: results are looked through by the service itself. All ways to match a path so far are followed at once, as the
    bits of a number: bit ``i`` says that the tokens before ``i`` have matched.
    """

    def __init__(self, pattern: bytes) -> None:
        self._folders_only = len(pattern) > 1 and pattern.endswith(b"/")
        pattern = pattern[:-1] if self._folders_only else pattern
        self._with_end = pattern.endswith(b"***")
        crosses = b"**" in pattern
        tokens = _read(pattern) if _WILD.search(pattern) else [_Token(frozenset((letter,))) for letter in pattern]
        if crosses and not pattern.startswith((b"/", b"**")):
            tokens = [_Token(_ANY, repeats=True), _Token(frozenset(b"/")), *tokens]
        # Without ** the end of the path has to match, as many names as the pattern has; else the path.
        self._names = 0 if crosses or pattern.startswith(b"/") else pattern.count(b"/") + 1
        self._tokens = tokens
        self._repeats = sum(1 << at for at, token in enumerate(tokens) if token.repeats)
        self._taking: dict[int, int] = {}

    def matches(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether it matches this path, which begins with a slash."""
        if self._folders_only and not is_folder:
            return False
        if self._names:
            names = path.split(b"/")
            return len(names) > self._names and self._match(b"/".join(names[-self._names :]))
        return self._match(path + b"/" if self._with_end and is_folder else path)

    def _match(self, text: bytes) -> bool:
        repeats = self._repeats
        state = 1 | (repeats & 1) << 1
        for letter in text:
            taking = self._taking.get(letter)
            if taking is None:
                taking = sum(1 << at for at, token in enumerate(self._tokens) if letter in token.letters)
                self._taking[letter] = taking
            state &= taking
            state = (state & repeats) | (state & ~repeats) << 1
            # No two tokens that repeat are beside each other.
            state |= (state & repeats) << 1
            if not state:
                return False
        return state >> len(self._tokens) & 1 == 1


class Excluded:
    """What the patterns leave out. What is in a folder that is left out is so too."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_Pattern(os.fsencode(pattern)) for pattern in patterns if pattern]
        self._folders: dict[str, bool] = {"": False}

    def has(self, path: str, *, is_folder: bool) -> bool:
        """Whether the entry at the relative path is left out."""
        above = path.rpartition("/")[0]
        if above not in self._folders:
            self._folders[above] = self.has(above, is_folder=True)
        return self._folders[above] or self._matches(b"/" + os.fsencode(path), is_folder)

    def _matches(self, path: bytes, is_folder: bool) -> bool:
        return any(pattern.matches(path, is_folder=is_folder) for pattern in self._patterns)


def _read(pattern: bytes) -> list[_Token]:
    """The tokens of a pattern with wildcards. One that cannot be read has a token without letters, and so never
    matches.
    """
    found, at = [], 0
    while at < len(pattern):
        letter = pattern[at : at + 1]
        if letter == b"*":
            stars = len(pattern) - at - len(pattern[at:].lstrip(b"*"))
            found.append(_Token(_NO_SLASH if stars == 1 else _ANY, repeats=True))
            at += stars
            continue
        if letter == b"?":
            found.append(_Token(_NO_SLASH))
        elif letter == b"[":
            letters, at = _read_class(pattern, at + 1)
            found.append(_Token(letters))
        elif letter == b"\\":
            at += 1
            found.append(_Token(frozenset(pattern[at : at + 1])))
        else:
            found.append(_Token(frozenset(letter)))
        at += 1
    return found


def _read_class(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
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
                return frozenset(), len(pattern)
            taken.update(letters.encode("ascii"))
            before, at = 0, name.end()
            continue
        is_range = pattern[at : at + 1] == b"-" and before and pattern[at + 1 : at + 2] not in (b"", b"]")
        at += bool(is_range)
        at += pattern[at : at + 1] == b"\\"
        if at >= len(pattern):
            return frozenset(), len(pattern)
        taken.update(range(before, pattern[at] + 1) if is_range else (pattern[at],))
        before = 0 if is_range else pattern[at]
        at += 1
    return (_NO_SLASH - taken if is_negated else _NO_SLASH & taken), at
