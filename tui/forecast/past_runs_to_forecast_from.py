"""What a forecast on this host can learn from: the history that passes publish, else the server's own job history.

The first needs the right to read the journal. The second is open to whoever may use ``qstat -x``, if the server keeps
a history at all, and is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hooks.pbs.custom_resources import APPLICATION
from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy.forecast.forecast_hits_and_correction import ForecastRecord
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished
from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.model.typed_attributes import Attributes, amount, moment, seconds, user_of
from tui.state.ended_jobs import ended_at

WINDOW_S = 2 * 86400.0
"""So far back the server's own history is asked for."""


class Learned(NamedTuple):
    """The past runs, the record of earlier forecasts if there is one, how many runs there are, and where they are
    from."""

    history: RunTimeHistory
    record: ForecastRecord | None
    runs: int
    source: str


def learn(backend: Backend) -> Learned:
    """The runs that this user may see. Never raises: without any, run times are what the jobs asked for."""
    past, record = backend.journal.read_history()
    if past.runs:
        return Learned(RunTimeHistory(past.runs), record, len(past.runs), "the passes' history")
    try:
        ended = backend.finished(WINDOW_S)
    except BackendError:
        return Learned(RunTimeHistory(), None, 0, "")
    runs = sorted(filter(None, map(_run_of, ended.items())), key=lambda run: run.end_s)
    return Learned(RunTimeHistory(runs), None, len(runs), "the server's job history" if runs else "")


def _run_of(job: tuple[str, Attributes]) -> Finished | None:
    """The last run of an ended job; None where it ran before, or what it took is not shown."""
    job_id, texts = job
    end_s, start_s = ended_at(texts), moment(texts, "stime")
    took_s = seconds(texts, "resources_used.walltime")
    if took_s is None and end_s is not None and start_s is not None:
        took_s = max(0.0, end_s - start_s)
    user, cores = user_of(texts), amount(texts, "Resource_List.ncpus")
    if took_s is None or end_s is None or not user or not cores or is_array(job_id) or amount(texts, "run_count") > 1:
        return None
    if _is_negative(texts):
        return None
    asked_s = seconds(texts, "Resource_List.walltime")
    application = texts.get(f"Resource_List.{APPLICATION}", "")
    return Finished(
        job_id, user, application, cores, end_s - took_s, end_s, UNLIMITED_S if asked_s is None else asked_s
    )


def _is_negative(texts: Mapping[str, str]) -> bool:
    """Whether PBS could not run the job: its exit status is negative then."""
    return texts.get("Exit_status", "0").startswith("-")
