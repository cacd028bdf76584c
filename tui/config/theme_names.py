"""The names of the themes, for the command line, which does not load the screen."""

from __future__ import annotations

THEME_NAMES = ("dark", "light", "colour-blind", "contrast", "none")
