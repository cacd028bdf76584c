"""How long the texts of an event's job or reservation are.

PBS takes a text of any length for each of them, and keeps it as long as the job or the reservation exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.resource_list import read_lengths


class TextLengths(NamedTuple):
    """Lengths in characters: ``read`` by resource or attribute, of what passes read; ``environment`` by attribute, of
    what a job is started with, or of what PBS keeps of a reservation beside the former."""

    read: dict[str, int]
    environment: dict[str, int]

    def over(self, before: TextLengths) -> TextLengths:
        """The lengths after an alteration with these, where they were those ``before``."""
        return TextLengths({**before.read, **self.read}, {**before.environment, **self.environment})


def measure_texts(subject: Any, read: Sequence[str], kept: Sequence[str]) -> TextLengths:
    """The lengths of these attributes and of all resources; at an alteration of what it changes."""
    attributes = {name: len(text) for name in read if (text := read_attribute(subject, name))}
    environment = {name: len(text) for name in kept if (text := read_attribute(subject, name))}
    return TextLengths({**read_lengths(subject.Resource_List), **attributes}, environment)
