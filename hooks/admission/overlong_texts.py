"""Refuses a job whose texts (select, dependencies, environment) are too long for PBS and the passes, in every mode."""

from __future__ import annotations

from typing import Any

from hooks.pbs.job_attributes.measure_job_texts import count_subjobs, read_attribute, read_text_lengths
from hooks.pbs.job_attributes.resource_list import read_select, refuse_name
from policy.eligibility.request_text_limits import (
    find_excess,
    find_long_environment,
    find_long_texts,
    find_many_dependencies,
    find_wide_array,
)
from policy.settings.site_settings import SubmissionSettings

_SHORT = 200
"""Texts of an alteration of up to so many characters are let through without reading the job's other ones."""


def refuse_beyond_bounds(job: Any, bounds: SubmissionSettings, before: Any = None) -> str:
    """Why an event's job is refused; empty if it is within the bounds. ``before``: at an alteration, the job as it
    was, whose texts count with those that stay."""
    excess = (
        find_excess(read_select(job.Resource_List), bounds)
        or refuse_name(getattr(job, "Job_Name", None))
        or find_wide_array(count_subjobs(job), bounds)
        or find_many_dependencies(read_attribute(job, "depend"), bounds)
    )
    if excess:
        return excess
    lengths = read_text_lengths(job)
    if before is not None:
        if sum(lengths.read.values()) + sum(lengths.environment.values()) <= _SHORT:
            return ""
        lengths = lengths.over(read_text_lengths(before))
    read_length = sum(lengths.read.values())
    return find_long_texts(read_length, bounds) or find_long_environment(sum(lengths.environment.values()), bounds)
