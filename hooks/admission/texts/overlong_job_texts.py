"""Refuses a job whose texts (select, dependencies, environment) are too long for PBS and the passes, or nested deeply,
or have line breaks where PBS writes them into its logs, or whose start time has no date, or whose mail addresses are
options of the mail program, in every mode."""

from __future__ import annotations

from functools import partial
from typing import Any

from hooks.admission.texts.bounds_on_text_lengths import find_overlong
from hooks.admission.texts.deeply_nested_texts import refuse_nested
from hooks.admission.texts.line_breaks_in_texts import refuse_line_breaks
from hooks.admission.texts.mail_users_as_options import refuse_mail_options
from hooks.admission.texts.processes_of_request import refuse_many_processes
from hooks.admission.texts.times_without_date import refuse_far_start
from hooks.pbs.job_attributes.measure_job_texts import (
    STARTED_WITH,
    count_subjobs,
    read_last_count,
    read_lengths_before,
    read_text_lengths,
)
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.resource_list import read_select
from policy.eligibility.request_text_limits import (
    find_endless_array,
    find_excess,
    find_many_dependencies,
    find_wide_array,
)
from policy.settings.settings_of_server_and_passes import SubmissionSettings

_KEPT_NAME = "variables, arguments and paths"


def refuse_beyond_bounds(job: Any, bounds: SubmissionSettings, before: Any = None) -> str:
    """Why an event's job is refused; empty if it is within the bounds. ``before``: at an alteration, the job as it
    was, whose texts count with those that stay."""
    excess = (
        find_excess(read_select(job.Resource_List), bounds)
        or refuse_many_processes(job.Resource_List, bounds)
        or find_endless_array(read_last_count(job))
        or find_wide_array(count_subjobs(job), bounds)
        or find_many_dependencies(read_attribute(job, "depend"), bounds)
    )
    excess = excess or refuse_far_start(job) or refuse_mail_options(job)
    excess = excess or refuse_line_breaks(job, altered=before is not None)
    was = None if before is None else partial(read_lengths_before, before)
    excess = excess or find_overlong(read_text_lengths(job), was, _KEPT_NAME, bounds)
    return excess or refuse_nested(job, STARTED_WITH)
