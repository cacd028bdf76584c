"""Where a user's files are: the folders of the XDG Base Directory Specification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_folder(environment: Mapping[str, str]) -> Path:
    """What a user has chosen: below ``XDG_CONFIG_HOME``, else ``~/.config``."""
    return _below(environment, "XDG_CONFIG_HOME", ".config")


def state_folder(environment: Mapping[str, str]) -> Path:
    """What lasts from session to session: below ``XDG_STATE_HOME``, else ``~/.local/state``."""
    return _below(environment, "XDG_STATE_HOME", ".local/state")


def _below(environment: Mapping[str, str], variable: str, at_home: str) -> Path:
    said = environment.get(variable, "")
    # The specification lets only whole paths count.
    home = Path(environment.get("HOME") or Path.home())
    return (Path(said) if Path(said).is_absolute() else home / at_home) / "pbsteer"
