"""On each MoM, at an interval: report the host's readings, in one resource of its natural vnode, the jobs that were
restarted from a checkpoint or taken over by a MoM that was restarted; and delete notes of jobs that are gone.

No request waits for this. It runs in a process of its own, reads a few small files, and sends a reading only if it has
changed or would soon be too old, since each report is written into the server's database.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from hooks.checkpoint.on_job_host.jobs_of_restarted_mom import find_mom_start, report_sessions
from hooks.checkpoint.on_job_host.read_saved_task_notes import find_left, is_gone
from hooks.checkpoint.on_job_host.report_restarted_as_running import find_restarted, report
from hooks.pbs.custom_resources_on_hosts import READING
from hooks.placement.find_left_core_lists import find_left_core_lists
from hooks.store.settings_for_host_hooks import read_section
from hooks.telemetry.host_reading_format import INTERVAL_S, STALE_INTERVALS, is_due, parse_reading
from hooks.telemetry.host_sensors import load_counts, read_counts, read_host, save_counts
from hooks.telemetry.site_sensor_file import put_site_sensors

_ROOT = Path("/")
_COUNTS = "pbsteer_counts.json"


def handle(pbs: Any) -> str | None:
    """Report what is new."""
    report_taken_over(pbs)
    report_restarted(pbs)
    forget_left(pbs)
    vnodes = pbs.event().vnode_list
    name = pbs.get_local_nodename()
    if name not in vnodes:
        return None
    try:
        ranking = read_section(pbs.hook_config_filename, "ranking")
    except FileNotFoundError:
        # The host is being removed from the server, or the hook from the host.
        return None
    # MoMs run hooks here. PBS deletes files there that are not rewritten for 20 minutes, so none of ours remain.
    path = Path(pbs.hook_config_filename).parent / "tmp" / _COUNTS
    counts = read_counts(_ROOT, time.monotonic())
    interval_s = ranking.get("interval_s", INTERVAL_S)
    stale_s = ranking.get("stale_intervals", STALE_INTERVALS) * interval_s
    measured = read_host(_ROOT, load_counts(path), counts, time.time())
    reading, problem = put_site_sensors(Path(pbs.pbs_conf["PBS_HOME"]), measured, stale_s)
    if problem:
        pbs.logmsg(pbs.LOG_WARNING, f"pbsteer: {problem}")
    try:
        save_counts(path, counts)
    except OSError as error:
        pbs.logmsg(pbs.LOG_WARNING, f"pbsteer: {path}: {error.strerror}: load and network are not reported")
    available = vnodes[name].resources_available
    try:
        sent = parse_reading(str(available[READING] or ""))
    except (AttributeError, KeyError):
        # PBS sends a host the hook before the resource: there is nothing to write into yet.
        return None
    if is_due(reading, sent, interval_s, stale_s):
        available[READING] = reading.show()
    return None


def report_taken_over(pbs: Any) -> None:
    """Make the server see that the jobs of a MoM that was restarted run. An error here does not keep the host from
    being reported."""
    with contextlib.suppress(Exception):
        report_sessions(pbs.event().job_list, find_mom_start(pbs.pbs_conf["PBS_HOME"]), time.time())


def report_restarted(pbs: Any) -> None:
    """Make the server see that restarted jobs run, so that they can be checkpointed again."""
    for job_id, note in find_restarted(pbs.pbs_conf["PBS_HOME"]).items():
        # The list is from the beginning of the hook: a job that the server sent in that moment comes with the next one.
        job = pbs.event().job_list.get(job_id)
        if job is not None and job.session_id:
            with contextlib.suppress(OSError):
                report(job, note, time.time())


def forget_left(pbs: Any) -> None:
    """Delete the notes of saved and restarted jobs that are gone, and the lists of cores of jobs that are. The event's
    list of jobs is from its beginning, so a job that came after it is known by the MoM's own file. An error here does
    not keep the host from being reported."""
    with contextlib.suppress(Exception):
        home, jobs = pbs.pbs_conf["PBS_HOME"], pbs.event().job_list
        restarted = [note for job_id, note in find_restarted(home).items() if is_gone(home, job_id, jobs)]
        lists = find_left_core_lists(Path(home), lambda job_id: is_gone(home, job_id, jobs))
        for left in (*find_left(home, jobs), *restarted, *lists):
            left.unlink()
