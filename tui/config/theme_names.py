"""What the themes are called, for a command line that loads no screen."""

from __future__ import annotations

THEME_NAMES = ("dark", "light", "colour-blind", "contrast", "none")
