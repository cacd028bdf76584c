"""The bounds on how long the texts of a job or of a reservation are together, at submission and at alteration."""

from __future__ import annotations

from typing import Callable

from hooks.pbs.job_attributes.text_lengths import TextLengths
from policy.eligibility.request_text_limits import find_long_environment, find_long_texts
from policy.settings.settings_of_server_and_passes import SubmissionSettings

_SHORT = 200
"""Texts of an alteration of up to so many characters are let through without reading the other ones."""


def find_overlong(
    lengths: TextLengths, before: Callable[[], TextLengths] | None, kept: str, bounds: SubmissionSettings
) -> str:
    """The message where the texts of an event's job or reservation are beyond the bounds; empty where they are within
    them. ``before`` measures, at an alteration, what it was; its texts count with those that stay. ``kept`` names those
    that PBS keeps and no pass reads."""
    if before is not None:
        if sum(lengths.read.values()) + sum(lengths.environment.values()) <= _SHORT:
            return ""
        lengths = lengths.over(before())
    read_length, kept_length = sum(lengths.read.values()), sum(lengths.environment.values())
    return find_long_texts(read_length, bounds) or find_long_environment(kept_length, bounds, kept)
