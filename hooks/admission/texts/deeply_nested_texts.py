"""Refuses a job or a reservation with a text that is JSON and nested deeply, in every mode.

``qstat -F json`` parses each resource and most other texts, and prints one that is JSON as such: indented, so that it
is many times as long, and so deep that programs which read the answer for all jobs cannot.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.resource_list import read_all
from policy.eligibility.request_text_limits import find_nested_text


def refuse_nested(subject: Any, kept: Iterable[str]) -> str:
    """Why an event's job or reservation is refused; empty if none of its resources is such a text, nor any of these
    attributes. PBS's own commands write none into these, but its server accepts them from other programs."""
    resources = ((f"resource {name}", text) for name, text in read_all(subject.Resource_List).items())
    texts = ((name, read_attribute(subject, name)) for name in kept)
    return next(filter(None, (find_nested_text(*each) for each in chain(resources, texts))), "")
