"""The checkpoint method of a job: its own, else its queue's, else that of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, REQUEUE, SIGNAL
from hooks.pbs.custom_resources import SAVE_ATTRIBUTE
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.job_attributes.job_ids_and_states import NO_CHECKPOINT, is_subjob
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.save_method_names import SAVE_METHODS
from policy.settings.site_settings import Settings

METHOD_OF_JOB = f"Resource_List.{SAVE}"
"""The attribute of a job that names its own method."""
_ABOUT_TO_RUN = "41"
_REPORTED_S = 300
"""Seconds within which hosts with our ``exechost_periodic`` hook have reported that a restarted job runs."""


def read_methods(server_status: ServerStatus, settings: Settings, report: Callable[[str], None]) -> dict[str, str]:
    """The method of each queue, for jobs without one of their own; an unknown method is passed to ``report``."""
    methods = {}
    for name, texts in server_status.queues.items():
        method = texts.get(SAVE_ATTRIBUTE, "")
        if method and method not in SAVE_METHODS:
            report(f"queue {name}: {SAVE_ATTRIBUTE} is {method!r}; allowed is {', '.join(SAVE_METHODS)}")
            method = ""
        methods[name] = method or settings.checkpoint.method
    return methods


def find_method(job_id: str, texts: Attributes, methods: Mapping[str, str], ran_s: float, *, wide: bool = False) -> str:
    """The method for this job or subjob, which has run for ``ran_s`` seconds, on several hosts if ``wide``.

    PBS holds and checkpoints no subjob, so these are requeued instead. PBS does not checkpoint a job in substate 41
    either, which a restarted job keeps until its MoM reports more
    (:mod:`hooks.checkpoint.on_job_host.report_restarted_as_running`); if no MoM does, the job is signalled. So is a
    job on several hosts: PBS restarts each of its tasks alone, they lose contact, and the job never ends
    (OpenPBS 23.06).
    """
    if texts.get("Checkpoint", "") == NO_CHECKPOINT:
        return REQUEUE
    asked_for = texts.get(METHOD_OF_JOB, "")
    method = asked_for if asked_for in SAVE_METHODS else methods.get(texts.get("queue", ""), REQUEUE)
    if method == CHECKPOINT and (is_subjob(job_id) or "[]" in job_id):
        return REQUEUE
    cannot = wide or (is_about_to_run(texts) and ran_s > _REPORTED_S)
    return SIGNAL if method == CHECKPOINT and cannot else method


def is_about_to_run(texts: Attributes) -> bool:
    """Whether the server has not heard yet that the job runs on its host."""
    return texts.get("substate", "") == _ABOUT_TO_RUN
