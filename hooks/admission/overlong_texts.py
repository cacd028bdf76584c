"""Refuses a job whose texts (select, dependencies, environment) are too long for PBS and the passes, in every mode."""

from __future__ import annotations

from typing import Any

from hooks.admission.bounds_on_text_lengths import find_overlong
from hooks.pbs.job_attributes.measure_job_texts import count_subjobs, read_text_lengths
from hooks.pbs.job_attributes.resource_list import read_select, refuse_name
from hooks.pbs.job_attributes.text_lengths import read_attribute
from policy.eligibility.request_text_limits import (
    find_excess,
    find_many_dependencies,
    find_wide_array,
)
from policy.settings.site_settings import SubmissionSettings

_STARTED_WITH = "variables, arguments and paths"


def refuse_beyond_bounds(job: Any, bounds: SubmissionSettings, before: Any = None) -> str:
    """Why an event's job is refused; empty if it is within the bounds. ``before``: at an alteration, the job as it
    was, whose texts count with those that stay."""
    excess = (
        find_excess(read_select(job.Resource_List), bounds)
        or refuse_name(getattr(job, "Job_Name", None))
        or find_wide_array(count_subjobs(job), bounds)
        or find_many_dependencies(read_attribute(job, "depend"), bounds)
    )
    return excess or find_overlong(job, before, read_text_lengths, _STARTED_WITH, bounds)
