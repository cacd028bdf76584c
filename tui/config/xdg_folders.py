"""A user's folders by the XDG Base Directory Specification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_folder(environment: Mapping[str, str]) -> Path:
    """The folder for configuration: below ``XDG_CONFIG_HOME``, else ``~/.config``."""
    return _below(environment, "XDG_CONFIG_HOME", ".config")


def state_folder(environment: Mapping[str, str]) -> Path:
    """The folder for state kept between sessions: below ``XDG_STATE_HOME``, else ``~/.local/state``."""
    return _below(environment, "XDG_STATE_HOME", ".local/state")


def _below(environment: Mapping[str, str], variable: str, at_home: str) -> Path:
    folder = environment.get(variable, "")
    # The specification ignores relative paths.
    home = Path(environment.get("HOME") or Path.home())
    return (Path(folder) if Path(folder).is_absolute() else home / at_home) / "pbsteer"
