"""Bounds on a ``select`` (length, kinds of chunks) and on the length of the rest of a request, checked on the texts
before anything parses them.

Parsing, placing and showing a select costs time for each kind of chunk, in PBS as in a pass: one job can cost as much
as ten thousand others. Equal neighbouring chunks are one kind, as in :mod:`policy.model.request`.
"""

from __future__ import annotations

from policy.model.request import RequestError, count_kinds
from policy.model.units import show_count
from policy.settings.site_settings import SubmissionSettings


def find_long_texts(length: int, bounds: SubmissionSettings) -> str:
    """The message where the texts of a request beside its chunks, ``length`` characters together, are beyond the bound;
    empty where they are within it. Each pass reads all of this anew for as long as the job exists."""
    most = bounds.text_length
    if most and length > most:
        allowed = f"allowed are {most:,} (submission.text_length)"
        return f"what it asks for beside its select has {length:,} characters; {allowed}"
    return ""


def find_excess(select: str, bounds: SubmissionSettings) -> str:
    """The message where a ``select`` is beyond the bounds; empty where it is within them. A bound of 0 means no
    bound."""
    most = bounds.select_length
    if most and len(select) > most:
        return f"its select has {len(select):,} characters; allowed are {most:,} (submission.select_length)"
    most = bounds.select_kinds
    # Each separator begins at most one more kind.
    if most and select.count("+") >= most:
        try:
            kinds = count_kinds(select)
        except RequestError as error:
            return str(error)
        if kinds > most:
            return (
                f"its select has {show_count(kinds, 'kind')} of chunks, counting equal neighbours once;"
                f" allowed are {most:,} (submission.select_kinds)"
            )
    return ""
