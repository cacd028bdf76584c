"""A quota change foreseen, as lines: which jobs it would start, preempt, spare or leave waiting, now and later."""

from __future__ import annotations

from collections.abc import Sequence

from policy.preview import Effect, Preview
from tui.core.lines import Line, safe

_ROLES = {
    "starts": "good",
    "spared": "good",
    "gets-cores": "good",
    "safe": "good",
    "preempted": "warn",
    "stays-queued": "warn",
    "loses-cores": "warn",
    "open": "warn",
}
_MOST = 5


def effect_lines(foreseen: Preview) -> list[Line]:
    """One line for each job that fares differently; one line where nobody does."""
    if not foreseen.effects and not foreseen.later:
        return [(("nothing would be decided differently, in the next pass or later", "dim"),)]
    return [*_part("in the next pass", foreseen.effects), *_part("from then on", foreseen.later)]


def _part(title: str, effects: Sequence[Effect]) -> list[Line]:
    lines: list[Line] = [((title, "title"),)]
    if not effects:
        return [*lines, (("  nobody fares differently", "dim"),)]
    lines += [((f"  {safe(effect.sentence)}", _ROLES.get(effect.kind, "")),) for effect in effects[:_MOST]]
    more = len(effects) - _MOST
    return [*lines, ((f"  and {more:,} more", "dim"),)] if more > 0 else lines
