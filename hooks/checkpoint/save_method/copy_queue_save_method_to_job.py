"""Finds the checkpoint method that a start has to write on its job, because the job's host cannot read the queue's."""

from __future__ import annotations

from hooks.checkpoint.save_method.read_save_method_job_asked_for import SAVING


def find_method_to_write(preference: str, of_queue: str, method: str) -> str:
    """The method to write: the queue's, if that saves and neither the job nor the settings (``method``) ask for saving.
    Empty if there is nothing to write."""
    return of_queue if of_queue in SAVING and not preference and method not in SAVING else ""
