"""The site's settings for the console: the production servers, where the server's name must be typed for every change,
and the servers that a console can go to.

They are in ``/etc/pbsteer/console.toml`` and the user's ``~/.config/pbsteer/console.toml``; the second file can only
add to the first. A file that cannot be understood is an error, not an empty file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migration.config.parse_toml import parse_toml
from tui.config.match_server_names import goes_by
from tui.config.xdg_folders import config_folder

SITE_FILE = Path("/etc/pbsteer/console.toml")
_KEYS = ("production", "servers")
EVERY_SERVER = "*"


class SiteError(ValueError):
    """A console settings file that cannot be understood; the message names file, key, value and what is allowed."""


@dataclass(frozen=True)
class Site:
    """``production`` has server names in lower case, or ``*`` for all servers; ``servers`` the names of those that the
    console offers to go to, in order."""

    production: frozenset[str] = frozenset()
    servers: tuple[str, ...] = ()

    def is_production(self, server: str) -> bool:
        """Whether the server's name is listed; either of the two names may have its domain, or not."""
        return EVERY_SERVER in self.production or goes_by(self.production, server)


def console_files(environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The site's file and the user's file; either may be missing."""
    return SITE_FILE, config_folder(environment) / "console.toml"


def read_site(files: tuple[Path, ...]) -> Site:
    """The settings of all files together; missing files count as empty. Raises :class:`SiteError`."""
    production: set[str] = set()
    servers: dict[str, None] = {}
    for path in files:
        data = _read(path)
        production |= {name.lower() for name in _names(path, data, "production", ', or ["*"]')}
        servers.update(dict.fromkeys(_names(path, data, "servers")))
    return Site(frozenset(production), tuple(servers))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SiteError(f"{path}: cannot be read: {reason}") from error
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise SiteError(f"{path}: not TOML: {error}") from error
    for key in data:
        if key not in _KEYS:
            raise SiteError(f"{path}: no setting {key!r}; allowed is {', '.join(_KEYS)}")
    return data


def _names(path: Path, data: Mapping[str, Any], key: str, also: str = "") -> list[str]:
    names = data.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise SiteError(f'{path}: {key} is {names!r}; allowed is a list of server names, ["hpc1"]{also}')
    return [name.strip() for name in names]
