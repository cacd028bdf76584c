"""The scheduler objects of a server: which one serves a queue, and whether it is switched on and there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.pbs.resources import DEFAULT_PARTITION

if TYPE_CHECKING:
    from hooks.pbs.status import Attributes, Picture


_CYCLING = "scheduling"


_DOWN = "down"


def find_scheduler(picture: Picture, queue: str) -> str | None:
    """The scheduler that serves a queue's partition. A server that names no schedulers has the default one alone."""
    return _find_of_partition(picture, picture.queues[queue].get("partition", "") or DEFAULT_PARTITION)


def _find_of_partition(picture: Picture, partition: str) -> str | None:
    for name, texts in picture.scheds.items():
        if partition in (texts.get("partition", "") or DEFAULT_PARTITION).split(","):
            return name
    return "default" if not picture.scheds and partition == DEFAULT_PARTITION else None


def is_scheduling(picture: Picture, name: str) -> bool:
    """Whether a scheduler is switched on."""
    texts: Attributes = picture.scheds.get(name, picture.server)
    return texts.get("scheduling", picture.server.get("scheduling", "True")) == "True"


def is_down(picture: Picture, name: str) -> bool:
    """Whether a scheduler does not run. One that says nothing of its state does."""
    return _state(picture, name) == _DOWN


def _state(picture: Picture, name: str) -> str:
    return picture.scheds.get(name, {}).get("state", "")
