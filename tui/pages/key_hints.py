"""The keys that are worth knowing where one is, for the line at the bottom: by view, and by what is marked.

Only keys that do something there are named: each hint is an action of the registry, and one that is not available in
the situation is left out. If the line is too narrow, the last ones go first, but the keys of the help and of the
command line stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tui.action_registry import BY_NAME, Action, Situation
from tui.text.screen_line import Line, Span, width

Hint = tuple[str, str]
"""An action's name, and what it does in a word or two."""

_OPEN: Hint = ("into", "open")
_TABLE: Sequence[Hint] = (("filter", "filter"), ("sort", "sort"), ("mark", "mark"), ("columns", "columns"))
_OF_VIEW: Mapping[str, Sequence[Hint]] = {
    "overview": (
        _OPEN,
        ("down", "move"),
        ("find", "find"),
        ("next-view", "next view"),
        ("act", "act"),
        ("refresh", "ask now"),
    ),
    "queues": (("into", "its jobs"), ("act", "act"), ("to-quotas", "quotas"), ("to-vnodes", "vnodes"), *_TABLE),
    "vnodes": (("into", "its jobs"), ("act", "act"), *_TABLE),
    "grid": (("into", "its jobs"), ("colour", "colour by"), ("act", "act"), ("rank", "rank"), ("down", "move")),
    "jobs": (
        _OPEN,
        ("act", "act"),
        *_TABLE[:3],
        ("output", "output"),
        ("to-vnodes", "its vnodes"),
        ("to-quotas", "quota"),
        ("finished", "ended jobs"),
        ("unfold", "subjobs"),
        _TABLE[3],
    ),
    "quotas": (("into", "jobs"), ("edit", "quota"), ("user-priority", "priority"), ("right", "next queue"), *_TABLE),
    "plan": (
        _OPEN,
        ("left", "pass before"),
        ("right", "pass after"),
        ("act", "act"),
        ("unfold", "unfold"),
        *_TABLE[:3],
    ),
    "audit": (*_TABLE[:2], ("down", "move"), ("next-view", "next view")),
    "reservations": (("into", "its jobs"), *_TABLE),
    "migration": (_OPEN, ("act", "act"), *_TABLE),
    "job": (
        ("back", "back"),
        ("right", "next page"),
        ("output", "output"),
        ("act", "act"),
        ("to-jobs", "user's jobs"),
        ("to-vnodes", "its vnodes"),
        ("down", "scroll"),
    ),
}
_WITH_MARKS: Sequence[Hint] = (("act", "act on them"), ("mark", "mark"), ("copy", "copy"), ("to-jobs", "jobs"))
_LETTERS = {"down": "j k", "left": "h", "right": "l"}
_ALWAYS: Sequence[Hint] = (("command", "command"), ("help", "keys"))
_KEPT = 16
"""Each key asks for the hints, mostly for those of the situation before."""


@lru_cache(_KEPT)
def key_hints(situation: Situation, marked: int, cells: int) -> Line:
    """The hints for a situation with so many ``marked`` rows, in at most so many cells."""
    hints = _WITH_MARKS if marked else _OF_VIEW.get(situation.view, ())
    lock: Hint = ("unlock", "lock" if situation.unlocked else "unlock")
    last = _spans(_ALWAYS, situation)
    first: list[Line] = [((f"{marked:,} marked", "mark"),)] if marked else []
    room = cells - 1
    shown: list[Line] = []
    for hint in [*first, *_spans([*hints[:4], lock, *hints[4:]], situation)]:
        if _cells([*shown, hint, *last]) <= room:
            shown.append(hint)
    return ((" ", ""), *(span for hint in [*shown, *last] for span in (*hint, ("  ", ""))))


def actions_of(view: str) -> tuple[str, ...]:
    """The names of the actions that matter most in a view."""
    return tuple(name for name, _ in _OF_VIEW.get(view, ()))


def _spans(hints: Sequence[Hint], situation: Situation) -> list[Line]:
    return [
        (*_keys(BY_NAME[name]), (f" {words}", ""))
        for name, words in hints
        if name in BY_NAME and BY_NAME[name].keys and not BY_NAME[name].unavailable(situation)
    ]


def _keys(action: Action) -> tuple[Span, ...]:
    """The key that is shown for an action: its first, for moves the letters."""
    return ((_LETTERS.get(action.name) or action.shown_keys.split()[0], "key"),)


def _cells(hints: Sequence[Line]) -> int:
    return sum(width(text) for hint in hints for text, _ in hint) + 2 * len(hints)
