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
    that PBS keeps and no pass reads.

    What an alteration does not lengthen is let through: a job may be beyond the bounds already, as PBS adds to its
    variables and masks characters in them, and passes and managers have to alter it all the same.
    """
    read_before = kept_before = 0
    if before is not None:
        if sum(lengths.read.values()) + sum(lengths.environment.values()) <= _SHORT:
            return ""
        was = before()
        read_before, kept_before = sum(was.read.values()), sum(was.environment.values())
        lengths = lengths.over(was)
    read_length, kept_length = sum(lengths.read.values()), sum(lengths.environment.values())
    too_long = find_long_texts(read_length, bounds) if read_length > read_before else ""
    return too_long or (find_long_environment(kept_length, bounds, kept) if kept_length > kept_before else "")
