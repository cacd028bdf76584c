"""Refuses a reservation whose texts (select, resources, rule, lists of users) are too long for PBS and the passes, or
whose times have no date, or whose mail addresses are options of the mail program, in every mode."""

from __future__ import annotations

from functools import partial
from typing import Any

from hooks.admission.texts.bounds_on_text_lengths import find_overlong
from hooks.admission.texts.deeply_nested_texts import refuse_nested
from hooks.admission.texts.line_breaks_in_texts import refuse_line_breaks_of_reservation
from hooks.admission.texts.mail_users_as_options import refuse_mail_options
from hooks.admission.texts.processes_of_request import refuse_many_processes
from hooks.admission.texts.times_without_date import refuse_far_reservation
from hooks.pbs.job_attributes.resource_list import read_select
from hooks.pbs.job_attributes.text_lengths import TextLengths, measure_texts
from policy.eligibility.request_text_limits import find_excess
from policy.settings.settings_of_server_and_passes import SubmissionSettings

_READ = ("Reserve_Name", "Account_Name", "reserve_rrule", "reserve_timezone")
_KEPT = ("Variable_List", "Mail_Users", "Authorized_Users", "Authorized_Groups", "Authorized_Hosts")
_KEPT_NAME = "variables and lists of users, groups and hosts"


def refuse_reservation_beyond_bounds(reservation: Any, bounds: SubmissionSettings, before: Any = None) -> str:
    """Why an event's reservation is refused; empty if it is within the bounds. ``before``: at an alteration, the
    reservation as it was."""
    excess = find_excess(read_select(reservation.Resource_List), bounds)
    excess = excess or refuse_many_processes(reservation.Resource_List, bounds)
    excess = excess or refuse_far_reservation(reservation) or refuse_mail_options(reservation)
    excess = excess or refuse_line_breaks_of_reservation(reservation)
    was = None if before is None else partial(_measure, before)
    excess = excess or find_overlong(_measure(reservation), was, _KEPT_NAME, bounds)
    return excess or refuse_nested(reservation, _KEPT)


def _measure(reservation: Any) -> TextLengths:
    return measure_texts(reservation, _READ, _KEPT)
