"""Pseudonyms for users, groups and projects, the same ones for all texts that go into one bundle.

Names are known from the server and the host, and found where a text marks them: in limits, and before a host.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping
from typing import Any

_EVERYBODY = ("PBS_GENERIC", "PBS_ALL", "_pbs_project_default", "root", "")
_KINDS = {"u": "user", "g": "group", "p": "project"}
_ENTRIES = (
    re.compile(r'"([ugp]):([^"\]]+)"'),
    re.compile(r"\[\s*([ugp]):([^\]=\"]+?)\s*="),
    re.compile(r"(?<![A-Za-z0-9_])([ugp]):([^\s=\],;:\"'()]+)"),
)
"""Names in limits, quoted (with blanks) and not, and in free text."""

_AT_HOST = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*)@(?=[\w*])")


class Pseudonyms:
    """Replaces the names of users, groups and projects in texts, each by the same pseudonym wherever it occurs."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._counts: collections.Counter[str] = collections.Counter()
        self._pattern: re.Pattern[str] | None = None

    def learn(self, kind: str, names: Iterable[str]) -> None:
        """Know these names, of one ``kind`` (``user``, ``group`` or ``project``), from now on. A name that is known as
        another kind keeps its pseudonym."""
        for name in names:
            if name not in self._known and name not in _EVERYBODY:
                self._counts[kind] += 1
                self._known[name] = f"{kind}{self._counts[kind]}"
                self._pattern = None

    def learn_from(self, text: str) -> None:
        """Know the names in a text that are marked as such: ``u:alice``, ``g:chem``, ``alice@login1``."""
        for entry in _ENTRIES:
            for letter, name in entry.findall(text):
                self.learn(_KINDS[letter], [name])
            # A name with a blank or a colon is no name up to there.
            text = entry.sub("", text)
        self.learn("user", _AT_HOST.findall(text))

    def replace(self, text: str) -> str:
        """The text with pseudonyms in place of the known names, and of those that it marks as names."""
        self.learn_from(text)
        if not self._known:
            return text
        if self._pattern is None:
            names = "|".join(re.escape(name) for name in sorted(self._known, key=len, reverse=True))
            self._pattern = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])")
        return self._pattern.sub(lambda found: self._known[found[0]], text)

    def replace_in(self, data: Any) -> Any:
        """The same for all texts of plain data, keys too."""
        if isinstance(data, str):
            return self.replace(data)
        if isinstance(data, Mapping):
            return {self.replace(str(key)): self.replace_in(value) for key, value in data.items()}
        return [self.replace_in(each) for each in data] if isinstance(data, (list, tuple)) else data
