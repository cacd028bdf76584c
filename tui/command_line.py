"""What a typed ``:`` line means: the action and its argument, and what would complete it.

A word that names no action finds those that it may mean, the best first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tui.action_registry import ACTIONS, BY_NAME, Action, is_there, views_of

_OLD_NAMES = {"pause": "pause-clock"}


class CommandError(ValueError):
    """A command that names no action or several, lacks its argument, or has one that is not allowed there."""


@dataclass(frozen=True)
class Command:
    """A parsed command line: the action, and its argument as typed."""

    action: Action
    argument: str


def parse_command(text: str, *, migrates: bool = True) -> Command:
    """Parse a ``:`` line. A view's name alone shows the view; a unique prefix of an action's name is enough.

    Raises :class:`CommandError` with the word and what is allowed.
    """
    word, _, argument = text.strip().partition(" ")
    there = {action.name: action for action in ACTIONS if migrates or not action.migrates}
    if word in views_of(migrates=migrates):
        return Command(BY_NAME[f"view-{word}"], "")
    word = _OLD_NAMES.get(word, word)
    found = (
        [there[word]]
        if word in there
        else [action for action in there.values() if word and action.name.startswith(word)]
    )
    if len(found) != 1:
        near = ", ".join(action.name for action in found)
        raise CommandError(f":{word} " + (f"could be {near}" if near else "is no command; ? lists them"))
    action = found[0]
    if argument.strip() and not action.argument:
        raise CommandError(f":{action.name} takes no argument, this has {argument.strip()!r}")
    return Command(action, argument.strip())


def complete(
    text: str, words: Mapping[str, Sequence[str]], *, simulated: bool = True, migrates: bool = False
) -> list[str]:
    """The possible completions of a ``:`` line; ``words`` has the candidates by kind (:attr:`Action.completes`)."""
    name, blank, argument = text.partition(" ")
    if not blank:
        actions = [action for action in ACTIONS if is_there(action, simulated, migrates)]
        names = [action.name for action in actions if not action.name.startswith("view-")]
        return [word for word in dict.fromkeys([*views_of(migrates=migrates), *names]) if word.startswith(name)]
    action = BY_NAME.get(name)
    if action is None or not action.completes:
        return []
    *before, last = argument.split(" ")
    kinds = action.completes.split()
    at = min(len(before), len(kinds) - 1)
    if at < len(before) and not kinds[at].endswith("..."):
        return []
    head = " ".join([name, *before])
    found = (word for kind in kinds[at].replace("...", "").split("|") for word in words.get(kind, ()))
    return [f"{head} {word}" for word in found if word.startswith(last)]


class Match(NamedTuple):
    """An action that a typed word may mean, and how well the word fits: smaller is better."""

    action: Action
    rank: tuple[int, int, int]


def find_actions(word: str, *, simulated: bool = True, migrates: bool = False) -> list[Action]:
    """The actions that a typed word may mean, the best first: names that begin with it, that have it, that have its
    letters in this order, and last those whose help has it."""
    found = [
        Match(action, rank)
        for action in ACTIONS
        if is_there(action, simulated, migrates)
        for rank in [_rank(word.lower(), action)]
        if rank is not None
    ]
    return [match.action for match in sorted(found, key=lambda match: match.rank)]


def _rank(word: str, action: Action) -> tuple[int, int, int] | None:
    name = action.name.removeprefix("view-")
    if name.startswith(word):
        return 0, len(name) if word else 0, 0
    if word in name:
        return 1, name.index(word), len(name)
    at = -1
    start = name.find(word[0])
    for letter in word:
        at = name.find(letter, at + 1)
        if at < 0:
            return (3, action.help.lower().index(word), 0) if word in action.help.lower() else None
    return 2, at - start, len(name)
