"""What pbsteer made in a server, and how it was before: the record by which removing leaves everything as it was found.

It is written before anything is changed, and removed last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.installed import DeployError
from hooks.resources import MODE, PRIORITY

RECORD = "installed.json"
_FIRST_RESOURCES = frozenset({MODE, PRIORITY})
"""Those of the versions whose record does not say which they made."""


@dataclass(frozen=True)
class Record:
    """How the server was before the first apply, and what was made since.

    ``made`` are resources, ``schedulers`` those that were created; ``partitions`` has for each object whose partition
    was changed the old one, "" for none, and the new one, ``flags`` the same for resources that others had made. Who
    schedules is not in it: what pbsteer switches it writes down itself, pass by pass
    (:class:`hooks.schedulers.Switched`), and an administrator may switch in between.
    """

    made: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    partitions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record in a file; None where there is none. Raises :class:`DeployError` for one that cannot be read."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            first = _FIRST_RESOURCES.difference(data.get("resources", ()))
            return cls(
                frozenset(data.get("made", first)),
                frozenset(data.get("schedulers", ())),
                *(
                    {what: (str(old), str(new)) for what, (old, new) in data.get(key, {}).items()}
                    for key in ("partitions", "flags")
                ),
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise DeployError(
                f"{path} cannot be read ({error}): it says which resources, schedulers and partitions pbsteer made."
                " Move it away to go on without: all resources of pbsteer's names then count as made by it, and"
                " partitions stay as they are"
            ) from error

    def show(self) -> str:
        """The text of the file."""
        data: dict[str, Any] = {"made": sorted(self.made)}
        if self.schedulers or self.partitions:
            data.update(schedulers=sorted(self.schedulers), partitions=dict(self.partitions))
        if self.flags:
            data["flags"] = dict(self.flags)
        return json.dumps(data, sort_keys=True) + "\n"
