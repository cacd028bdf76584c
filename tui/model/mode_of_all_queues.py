"""One text for the modes of a server's queues, which is mostly one mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy import Settings


def mode_of_all(modes: Mapping[str, str], settings: Settings) -> str:
    """The mode of all queues, different ones joined by ``+``; that of the settings where there is no queue."""
    return "+".join(sorted(set(modes.values()))) or settings.server.mode
