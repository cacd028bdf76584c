"""The colours of the console. They repeat what words and glyphs say, so none is needed to read the screen.

``dark`` and ``light`` keep blue, orange and bluish green apart for all common kinds of colour blindness;
``colour-blind`` is the palette of Okabe and Ito itself ("Color universal design", 2008), ``contrast`` black and white
with few pure colours, ``none`` the terminal's own two colours.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter, NoColor
from textual.theme import BUILTIN_THEMES, Theme

from tui.text.screen_line import to_ascii

_PREFIX = "pbsteer-"
_PARTS = (
    "primary", "secondary", "warning", "error", "success", "accent",
    "foreground", "background", "surface", "panel", "boost",
)  # fmt: skip
_PALETTES = {
    "dark": "#56B4E9 #4C93C7 #E69F00 #F0703C #5CC8A8 #F0E442 #D8DEE4 #101418 #182028 #202A34 #2A3642",
    "light": "#005A92 #0072B2 #9A5B00 #B33C00 #00694D #7A4B73 #1B2127 #FBFBF8 #F0F0EA #E6E6DE #DADAD0",
    "colour-blind": "#56B4E9 #0072B2 #E69F00 #D55E00 #009E73 #F0E442 #E8E8E8 #000000 #101010 #1C1C1C #282828",
    "contrast": "#00FFFF #FFFFFF #FFFF00 #FF6060 #00FF00 #FFFF00 #FFFFFF #000000 #000000 #000000 #303030",
    "none": " ".join(["ansi_default"] * len(_PARTS)),
}
_MUTED = {
    "dark": "#8A97A3",
    "light": "#5B656E",
    "colour-blind": "#9A9A9A",
    "contrast": "#D0D0D0",
    "none": "ansi_default",
}
_HERE = {
    "dark": "#22384C",
    "light": "#CCE0EE",
    "colour-blind": "#26323C",
    "contrast": "#303060",
    "none": "ansi_default",
}
DEFAULT, NONE = "dark", "none"


def _cursor_row(name: str) -> dict[str, str]:
    """The row under the cursor: a background that leaves the colours on it as they are; without colours, reverse."""
    return {"here": _HERE[name], "here-style": "bold reverse" if name == NONE else "bold"}


_HEAT = {
    "dark": "#1C2C3A #1F4260 #2A6796 #3A8CC4 #86C0E8",
    "light": "#E4EDF4 #BFD8EA #8DBBDC #4C93C7 #005A92",
    "colour-blind": "#101C26 #1F4260 #0072B2 #3A8CC4 #86C0E8",
    "contrast": "#202020 #383838 #585858 #B0B0B0 #FFFFFF",
    "none": " ".join(["ansi_default"] * 5),
}
"""The ramp of amounts on the grid, from little to much; the characters on it are light or dark as is readable."""
_READABLE = 3
"""The lower steps of the ramp, on which a theme's foreground is readable; its background is on the others."""
_NO_INK = {**{f"ink{step}": "ansi_default" for step in range(1, 6)}, "ink-hue": "ansi_default"}
_HUES = "#56B4E9 #E69F00 #5CC8A8 #F0E442 #CC79A7 #A0A8FF #D08A60 #B0B8C0"
"""Eight colours for names on the grid."""


def _grid_colours(name: str) -> dict[str, str]:
    if name == NONE:
        plain = {f"heat{step}": "ansi_default" for step in range(1, 6)}
        return {**plain, **{f"hue{number}": "ansi_default" for number in range(1, 9)}, **_NO_INK}
    foreground, background = (_PALETTES[name].split()[_PARTS.index(part)] for part in ("foreground", "background"))
    found = {f"heat{step}": colour for step, colour in enumerate(_HEAT[name].split(), start=1)}
    found.update({f"hue{number}": hue for number, hue in enumerate(_HUES.split(), start=1)})
    inks = [foreground] * _READABLE + [background] * (5 - _READABLE)
    return {**found, **{f"ink{step}": ink for step, ink in enumerate(inks, start=1)}, "ink-hue": "#101418"}


VARIABLES: Mapping[str, str] = {**_cursor_row(DEFAULT), **_grid_colours(DEFAULT)}
"""The variables that Textual's own themes do not have."""


def _theme(name: str) -> Theme:
    colours = dict(zip(_PARTS, _PALETTES[name].split()))
    variables = {"text-muted": _MUTED[name], **_cursor_row(name), **_grid_colours(name)}
    if name == NONE:
        # Without colours only the video attribute shows where the cursor is.
        variables = {**BUILTIN_THEMES["ansi-dark"].variables, **variables, "input-cursor-text-style": "reverse"}
    return Theme(name=_PREFIX + name, dark=name != "light", ansi=name == NONE, variables=variables, **colours)  # type: ignore[arg-type]


THEMES: Mapping[str, Theme] = {name: _theme(name) for name in _PALETTES}
"""The themes by the names that users choose them by."""


class Ascii(LineFilter):
    """Replaces characters on their way to the terminal by ASCII ones of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Replace what is not ASCII."""
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


class Look:
    """The look of one console: its theme (``none`` where the environment sets NO_COLOR) and its characters."""

    def __init__(self, app: App[str], *, without_colour: bool) -> None:
        self._app = app
        self.without_colour = without_colour
        self._no_colour, self._ascii = NoColor(enabled=without_colour), Ascii(enabled=False)

    @property
    def filters(self) -> list[LineFilter]:
        """The filters that every line passes on its way to the terminal, after Textual's own."""
        return [each for each in (self._no_colour, self._ascii) if each.enabled]

    def choose(self, name: str) -> None:
        """Show a theme; with NO_COLOR it is always ``none``."""
        name = NONE if self.without_colour else name
        self._no_colour.enabled = name == NONE
        self._app.theme = THEMES[name].name

    def draw_in_ascii(self, ascii_only: bool) -> None:
        """Draw with ASCII characters only, or with all characters."""
        self._ascii.enabled = ascii_only
        if not self._app.is_running:
            return
        for screen in self._app.screen_stack:
            for widget in screen.query("*"):
                widget.notify_style_update()
                widget.refresh()
