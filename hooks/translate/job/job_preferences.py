"""A job's preferences beyond select and place: ``Resource_List.pbsteer_*`` as the policy's values.

Words and numbers are checked here, for the pass and for submissions alike. An invalid preference is reported with what
is allowed; it is neither replaced by another one nor ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hooks.pbs.custom_resources import (
    APPLICATION,
    DEFERRABLE,
    DETAIL,
    LAYOUT,
    MAX_TEMPERATURE,
    MIN_COMPUTE,
    MIN_MEMORY,
    MIN_NETWORK,
    RANK,
    STRIPE_NODES,
    WIDTH,
)
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.job_attributes.job_ids_and_states import NO_CHECKPOINT
from policy.model.job_preferences import AUTO, DETAILS, LAYOUTS, RANK_MODES, Layout, RankPreference, Requirements
from policy.model.pbs_units import UnitError, parse_size_kib
from policy.model.save_method_names import SAVE_METHODS
from policy.settings.ranking_and_stripe_settings import RankingSettings

_LONGEST_NAME = 64
_MOST_DIGITS = 9
_MOST = 1e15


class Preferences(NamedTuple):
    """A job's own preferences; ``unread`` has a sentence for each invalid one. ``save`` is one of
    :data:`policy.model.save_method_names.SAVE_METHODS`, or empty."""

    rank: RankPreference | None
    layout: Layout | None
    application: str
    deferrable: bool
    unread: tuple[str, ...]
    save: str = ""

    @property
    def saves(self) -> bool | None:
        """Whether the job saves its work when asked to; None if it does not say."""
        return self.save != "requeue" if self.save else None


NO_PREFERENCES = Preferences(None, None, "", deferrable=False, unread=())


def read_preferences(resource_list: Mapping[str, str], ranking: RankingSettings) -> Preferences:
    """The preferences in a job's resource list, by name of the resource. Never raises.

    Requirements, or a list of sockets or cores, without a ranking mode are ranked by the mode of the settings, or by
    ``composite`` where that is ``none``. A width or stripe span without a layout means ``stripe``. What the settings
    preset for the job's application holds as far as the job says nothing itself.
    """
    unread: list[str] = []
    if ranking.applications:
        resource_list = {
            **_preset(resource_list.get(APPLICATION, ""), ranking),
            **{name: text for name, text in resource_list.items() if text},
        }
    needs = Requirements(
        _read_memory(resource_list, unread),
        _read_number(MIN_COMPUTE, resource_list, unread),
        _read_number(MIN_NETWORK, resource_list, unread),
        _read_number(MAX_TEMPERATURE, resource_list, unread),
    )
    mode = _read_word(RANK, RANK_MODES, resource_list, unread)
    detail = _read_word(DETAIL, DETAILS, resource_list, unread) or DETAILS[0]
    if not mode and (needs != Requirements() or detail != DETAILS[0]):
        mode = ranking.mode if ranking.mode in RANK_MODES else "composite"
    kind = _read_word(LAYOUT, (*LAYOUTS, AUTO), resource_list, unread)
    width, span = _read_nodes(WIDTH, resource_list, unread), _read_nodes(STRIPE_NODES, resource_list, unread)
    if not kind and (width is not None or span is not None):
        kind = "stripe"
    save = _read_word(SAVE, SAVE_METHODS, resource_list, unread)
    return Preferences(
        RankPreference(mode, needs, detail) if mode else None,
        Layout(kind, width, span or 1) if kind else None,
        _read_name(APPLICATION, resource_list, unread),
        resource_list.get(DEFERRABLE, "") == "True",
        tuple(unread),
        save,
    )


def _preset(application: str, ranking: RankingSettings) -> dict[str, str]:
    """The preferences that the settings preset for an application, by name of the resource."""
    return {f"pbsteer_{name}": text for name, text in dict(ranking.applications).get(application, ())}


def _read_word(name: str, words: tuple[str, ...], resource_list: Mapping[str, str], unread: list[str]) -> str:
    word = resource_list.get(name, "")
    if word and word not in words:
        unread.append(f"{name} is {word[:80]!r}; allowed is {', '.join(words)}")
        return ""
    return word


def _read_name(name: str, resource_list: Mapping[str, str], unread: list[str]) -> str:
    text = resource_list.get(name, "")
    if len(text) > _LONGEST_NAME or not text.isprintable():
        shown = f"{text[:16]!r}{'...' if text[16:] else ''}"
        unread.append(f"{name} is {shown}; allowed is a name of up to {_LONGEST_NAME} printable characters")
        return ""
    return text


def _read_memory(resource_list: Mapping[str, str], unread: list[str]) -> float | None:
    text = resource_list.get(MIN_MEMORY, "")
    if not text:
        return None
    try:
        amount = parse_size_kib(text) if len(text) <= _LONGEST_NAME else 0
    except UnitError:
        amount = 0
    if not amount:
        unread.append(f"{MIN_MEMORY} is {text[:80]!r}; allowed is a size above 0")
        return None
    return float(amount)


def _read_number(name: str, resource_list: Mapping[str, str], unread: list[str]) -> float | None:
    text = resource_list.get(name, "")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MOST:
        unread.append(f"{name} is {text[:80]!r}; allowed is a number above 0")
        return None
    return number


def _read_nodes(name: str, resource_list: Mapping[str, str], unread: list[str]) -> int | None:
    text = resource_list.get(name, "")
    if not text:
        return None
    nodes = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
    if not nodes:
        unread.append(f"{name} is {text[:80]!r}; allowed is a whole number of nodes, 1 or more")
        return None
    return nodes


def read_saves(checkpoint: str, preferences: Preferences, *, array: bool) -> bool | None:
    """Whether the job saves its work when asked to; None if it does not say. PBS checkpoints no subjobs."""
    if checkpoint == NO_CHECKPOINT:
        return False
    return False if array and preferences.save == "checkpoint" else preferences.saves
