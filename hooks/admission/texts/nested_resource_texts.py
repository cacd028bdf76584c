"""Refuses a job or a reservation with a resource whose text is JSON that is nested deeply, in every mode.

``qstat -F json`` parses each text of a resource and prints one that is JSON as such: indented, so that it is many times
as long, and so deep that programs which read the answer for all jobs cannot.
"""

from __future__ import annotations

from typing import Any

from hooks.pbs.job_attributes.resource_list import read_all
from policy.eligibility.request_text_limits import find_nested_text


def refuse_nested(resources: Any) -> str:
    """Why an event's job or reservation with this ``Resource_List`` is refused; empty if none of its texts is such."""
    return next(filter(None, (find_nested_text(*each) for each in read_all(resources).items())), "")
