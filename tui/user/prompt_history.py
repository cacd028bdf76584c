"""The lines typed before, by the prompt they were typed into: limited in number, each once, the newest last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui.user.user_json_file import Data

FILE = "typed.json"
MOST = 200
_LONGEST = 2000


@dataclass(frozen=True)
class Typed:
    """Lines by prefix (``:`` and ``/``), oldest first."""

    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_line(self, prefix: str, text: str) -> Typed:
        """With one more line; a repeated line becomes the newest, an empty or overlong one is not kept."""
        if not text or len(text) > _LONGEST:
            return self
        before = (line for line in self.lines.get(prefix, ()) if line != text)
        return Typed({**self.lines, prefix: (*before, text)[-MOST:]})

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"lines": {prefix: list(lines) for prefix, lines in self.lines.items()}}

    @classmethod
    def from_data(cls, data: Data) -> Typed:
        """The lines from :meth:`to_data`'s result; other data is left out."""
        found = data.get("lines", {})
        if not isinstance(found, dict):
            return cls()
        return cls(
            {
                prefix: tuple(line for line in lines if isinstance(line, str))[-MOST:]
                for prefix, lines in found.items()
                if isinstance(lines, list)
            }
        )
