"""A quota change foreseen, as lines: which jobs it would start, preempt, spare or leave waiting in the next pass."""

from __future__ import annotations

from policy.preview import Preview

from tui.core.lines import Line, safe

_ROLES = {"starts": "good", "spared": "good", "preempted": "warn"}
_MOST = 8


def effect_lines(foreseen: Preview) -> list[Line]:
    """One line for each job that fares differently; one line where nobody does."""
    if not foreseen.effects:
        return [(("in the next pass nothing would be decided differently", "dim"),)]
    lines: list[Line] = [(("in the next pass", "title"),)]
    lines += [((f"  {safe(effect.sentence)}", _ROLES.get(effect.kind, "")),) for effect in foreseen.effects[:_MOST]]
    more = len(foreseen.effects) - _MOST
    if more > 0:
        lines.append(((f"  and {more:,} more jobs fare differently", "dim"),))
    return lines
