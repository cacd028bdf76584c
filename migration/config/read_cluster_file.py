"""Reads ``cluster.toml`` strictly: an unknown key, a wrong type or a value out of its bounds is a problem, and all
problems are reported together.

A site without the file has no other clusters.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from migration.config.cluster_file import (
    BUILD_ON,
    PUBLISHED_KEY,
    SCHEDULERS,
    Cluster,
    ClusterFile,
    ClusterFileError,
    Here,
    Limits,
)
from migration.config.mg_home_folder import FILE
from migration.config.parse_toml import parse_toml
from policy.migration.job_record_and_copy_updates import ANY, CLUSTER_NAME, LOCAL

_MOST_BYTES = 1 << 20
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,31}\$?")
_SSH = re.compile(r"(?:[A-Za-z_][A-Za-z0-9._-]{0,31}@)?[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,252})")
_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+/-]{0,63}")


def read_cluster_file(folder: Path) -> ClusterFile | None:
    """The file in the folder; None where there is none. Raises :class:`ClusterFileError` with every problem."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES:
                raise ClusterFileError([f"{path}: must be a file of at most {_MOST_BYTES >> 20} MiB"])
            text = file.read(_MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClusterFileError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ClusterFileError([f"{path}: not UTF-8 text: {error}"]) from error
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise ClusterFileError([f"{path}: not TOML: {error}"]) from error
    return parse_cluster_file(data, str(path))


def parse_cluster_file(data: Mapping[str, Any], where: str) -> ClusterFile:
    """The file's content, checked. Raises :class:`ClusterFileError` with every problem."""
    return _Reader(where).read(data)


class _Reader:
    """Collects problems instead of stopping at the first."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._problems: list[str] = []

    def read(self, data: Mapping[str, Any]) -> ClusterFile:
        self._only(data, "", ("this", "cluster", "here", "limits"))
        this = self._match(data, "", "this", CLUSTER_NAME, None, _NAME)
        clusters = tuple(self._clusters(data.get("cluster", []), this))
        names = [cluster.name for cluster in clusters]
        for name in sorted({name for name in names if name and names.count(name) > 1}):
            self._problem("cluster", name, "named once")
        if this and this not in names:
            self._problem("this", this, "the name of a [[cluster]]")
        here = self._here(self._table(data, "here"))
        for source in here.users:
            if source not in names:
                self._problem(f"here.users.{source}", source, "the name of a [[cluster]]")
        for key, paused in (("sending_to", here.pause_sending_to), ("taking_from", here.pause_taking_from)):
            for name in paused:
                if name not in (ANY, *names) or name == this:
                    self._problem(f"here.pause_{key}", name, f"{ANY}, or the name of another [[cluster]]")
        limits = self._limits(self._table(data, "limits"))
        if self._problems:
            raise ClusterFileError(self._problems)
        own = next(cluster for cluster in clusters if cluster.name == this)
        return ClusterFile(own, tuple(cluster for cluster in clusters if cluster.name != this), here, limits)

    def _here(self, data: Mapping[str, Any]) -> Here:
        self._only(data, "here.", tuple(one.name for one in fields(Here)))
        part = "here."
        return Here(
            self._match(data, part, "queue", _QUEUE, "", "the name of a queue or partition"),
            self._list(data, part, "pause_sending_to", CLUSTER_NAME, _NAMES),
            self._list(data, part, "pause_taking_from", CLUSTER_NAME, _NAMES),
            self._whole(data, part, "min_uid", 1000, 1, 2**31),
            self._folders(data, part, "allowed_roots", ("/home",)),
            self._folders(data, part, "share_roots", ()),
            self._whole(data, part, "default_walltime_s", 0, 0, 10**9),
            self._one_of(data, part, "build_on", BUILD_ON, "here"),
            self._users(self._table(data, "users", part)),
            self._list(data, part, "refused_groups", _USER, "names of groups", Here.refused_groups),
            self._list(data, part, "refused_accounts", _USER, "names of accounts", Here.refused_accounts),
            self._flag(data, part, "refuse_without_login", default=True),
        )

    def _users(self, data: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
        found: dict[str, Mapping[str, str]] = {}
        for source, named in data.items():
            if not isinstance(named, Mapping):
                self._problem(f"here.users.{source}", named, "a table: their user = our account")
                continue
            accounts: dict[str, str] = {}
            for user, account in named.items():
                if not isinstance(account, str) or (account and not _USER.fullmatch(account)) or account == "root":
                    self._problem(f"here.users.{source}.{user}", account, 'an account, never root, or "" for none')
                else:
                    accounts[user] = account
            found[source] = accounts
        return found

    def _clusters(self, data: object, this: str) -> Iterator[Cluster]:
        if not isinstance(data, list):
            self._problem("cluster", data, "tables [[cluster]]")
            return
        for number, one in enumerate(data, 1):
            part = f"cluster {number}: "
            if not isinstance(one, Mapping):
                self._problem(part.rstrip(": "), one, "a table")
                continue
            self._only(one, part, tuple(field.name for field in fields(Cluster)))
            name = self._match(one, part, "name", CLUSTER_NAME, None, _NAME)
            if name in (ANY, LOCAL):
                self._problem(f"{part}name", name, f"any name but {ANY} and {LOCAL}")
            must = name == this
            yield Cluster(
                name,
                self._match(one, part, "ssh", _SSH, "" if must else None, "USER@HOST or HOST"),
                self._one_of(one, part, "scheduler", SCHEDULERS, None if must else ""),
                self._match(one, part, "queue", _QUEUE, "global", "the name of a queue or partition"),
                self._folder(one, part, "landing", None if must else ""),
                self._match(one, part, "arch", _WORD, "", "a word such as x86_64-v3"),
                self._list(one, part, "modules", _WORD, "names of modules"),
                self._match(one, part, "key", PUBLISHED_KEY, "", "a public key: its kind and its base64, no more"),
                self._flag(one, part, "send", default=True),
                self._whole(one, part, "bwlimit_kib", 0, 0, 10**9),
            )

    def _limits(self, data: Mapping[str, Any]) -> Limits:
        self._only(data, "limits.", tuple(one.name for one in fields(Limits)))
        bounds = {
            "ssh_timeout_s": (1, 600), "max_uploads": (1, 1000), "max_downloads": (1, 1000),
            "max_transfers_per_user": (1, 1000), "max_requests_per_user": (1, 1_000_000),
            "max_ended_per_user": (1, 1_000_000), "max_connections": (1, 1000),
            "max_connections_per_cluster": (1, 1000), "max_connections_per_user": (1, 1000),
        }  # fmt: skip
        values = {}
        for one in fields(Limits):
            low, high = bounds.get(one.name, (0, 10**9))
            values[one.name] = self._whole(data, "limits.", one.name, int(str(one.default)), low, high)
        return Limits(**values)

    def _only(self, data: Mapping[str, Any], part: str, allowed: tuple[str, ...]) -> None:
        for name in data:
            if name not in allowed:
                self._problems.append(f"{self._where}: {part}{name}: no such key; there are {', '.join(allowed)}")

    def _table(self, data: Mapping[str, Any], name: str, part: str = "") -> Mapping[str, Any]:
        value = data.get(name, {})
        if isinstance(value, Mapping):
            return value
        self._problem(part + name, value, "a table")
        return {}

    def _match(
        self, data: Mapping[str, Any], part: str, name: str, form: re.Pattern[str], default: str | None, allowed: str
    ) -> str:
        """Text of this form; ``default`` None is a key that must be there."""
        value = data.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and form.fullmatch(value):
            return value
        self._problem(part + name, value, allowed)
        return ""

    def _one_of(
        self, data: Mapping[str, Any], part: str, name: str, choices: tuple[str, ...], default: str | None
    ) -> str:
        value = data.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and value in choices:
            return value
        self._problem(part + name, value, "one of " + ", ".join(choices))
        return ""

    def _list(
        self,
        data: Mapping[str, Any],
        part: str,
        name: str,
        form: re.Pattern[str],
        allowed: str,
        default: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        value = data.get(name, list(default))
        if isinstance(value, list) and all(isinstance(one, str) and form.fullmatch(one) for one in value):
            return tuple(value)
        self._problem(part + name, value, f"a list of {allowed}")
        return ()

    def _folder(self, data: Mapping[str, Any], part: str, name: str, default: str | None) -> str:
        value = data.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and _is_folder_name(value):
            return value
        self._problem(part + name, value, _FOLDER)
        return ""

    def _folders(self, data: Mapping[str, Any], part: str, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = data.get(name, list(default))
        if isinstance(value, list) and all(isinstance(one, str) and _is_folder_name(one) for one in value):
            return tuple(value)
        self._problem(part + name, value, f"a list, each {_FOLDER}")
        return default

    def _whole(self, data: Mapping[str, Any], part: str, name: str, default: int, low: int, high: int) -> int:
        value = data.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self._problem(part + name, value, f"a whole number from {low} to {high}")
        return default

    def _flag(self, data: Mapping[str, Any], part: str, name: str, *, default: bool) -> bool:
        value = data.get(name, default)
        if isinstance(value, bool):
            return value
        self._problem(part + name, value, "true or false")
        return default

    def _problem(self, name: str, value: object, allowed: str) -> None:
        shown = "missing" if value is None else f"{value!r:.80}"
        self._problems.append(f"{self._where}: {name}: {shown}: must be {allowed}")


_NAME = "a name of a-z, 0-9 and -, at most 32 characters"
_NAMES = f"names of clusters, or {ANY}"
_FOLDER = "an absolute path without . or .. parts, other than /"


def _is_folder_name(text: str) -> bool:
    parts = text.split("/")
    return (
        text.isprintable()
        and len(text) > 1
        and parts[0] == ""
        and all(part not in ("", ".", "..") for part in parts[1:])
    )
