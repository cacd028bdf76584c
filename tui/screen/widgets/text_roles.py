"""The roles that text has in the console (``dim``, ``bad``, ``heat3``, ...), and each role's style as a rule of CSS.

The application alone has them as its component classes, since those of each widget would be matched again whenever one
is mounted.
"""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual.app import App

_HEATS, _HUES = range(1, 6), range(1, 9)
ROLES = (
    *("dim", "bold", "title", "good", "warn", "bad", "key", "mark", "bar", "cursor", "tab", "here", "behind", "pick"),
    *(f"heat{step}" for step in _HEATS),
    *(f"hue{number}" for number in _HUES),
    *(f"on-heat{step}" for step in _HEATS),
    *(f"on-hue{number}" for number in _HUES),
)
"""``on-`` is the colour behind the characters, for cells that have room for some."""

ROLE_CLASSES = {f"role-{role}" for role in ROLES}

ROLE_RULES = (
    "\n".join(
        [f".role-heat{step} {{ color: $heat{max(2, step)}; }}" for step in _HEATS]
        + [f".role-hue{number} {{ color: $hue{number}; }}" for number in _HUES]
        + [f".role-on-heat{step} {{ background: $heat{step}; color: $ink{step}; }}" for step in _HEATS]
        + [f".role-on-hue{number} {{ background: $hue{number}; color: $ink-hue; }}" for number in _HUES]
    )
    + """
.role-bold { text-style: bold; }
.role-title { text-style: bold; color: $primary; }
.role-dim { color: $text-muted; }
.role-good { color: $success; }
.role-warn { color: $warning; text-style: bold; }
.role-bad { color: $error; text-style: bold; }
.role-key { color: $accent; text-style: bold; }
.role-mark { color: $foreground; text-style: bold; }
.role-bar { color: $secondary; }
.role-cursor { text-style: reverse; }
.role-pick { color: $accent; text-style: bold reverse; }
.role-tab { color: $primary; text-style: bold reverse; }
.role-here { background: $here; text-style: $here-style; }
.role-behind { background: $here; }
"""
)


def find_style(app: App[Any], roles: str) -> Style:
    """The style of one role, or of several with spaces between them, without what is behind or around the text."""
    style = Style()
    for role in roles.split():
        style += app.get_component_styles(f"role-{role}").partial_rich_style
    return style
