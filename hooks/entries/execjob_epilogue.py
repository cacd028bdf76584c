"""A job has ended on this host: requeue it if a pass had it save its work, or if it could not be restarted.

It runs on the first host of each job that ends, in a process of its own; hooks/README.md has what it loads and what it
delays.
"""

from __future__ import annotations

from hooks.checkpoint.on_job_host.read_saved_task_notes import has_failed_restart
from hooks.checkpoint.on_job_host.skip_server_query_at_job_end import (
    UNREAD,
    could_be_asked,
    may_be_run_again,
    may_have_been_asked,
    read_saving,
    says_saved,
)

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import RunOnServer, Verdict

ANSWER_S = 5
SERVER_BACK_S = 90
"""How long the end of a job that saved is delayed while its host cannot reach the server. No job can use that host
meanwhile; but the hook has to be over before its alarm (:mod:`hooks.deploy.hook_events_alarms_and_order`), which would
delete the job."""


def handle(pbs: Any) -> str | None:
    """Judge the end of this event's job."""
    job = pbs.event().job
    if not job.in_ms_mom() or job.Exit_status is None:
        return None
    exit_status = int(job.Exit_status)
    is_lost = False
    try:
        is_lost = has_failed_restart(pbs.pbs_conf["PBS_HOME"], job, exit_status)
        if is_lost:
            _ask_of_restart(pbs, job, exit_status)
        elif may_be_run_again(exit_status) and may_have_been_asked(job, exit_status, pbs.hook_config_filename):
            _ask(pbs, job, exit_status)
    except Exception as error:
        # No more modules are loaded here: loading may be what failed.
        again = is_lost or says_saved(job, exit_status, pbs.hook_config_filename)
        if again:
            job.rerun()
        done = "is requeued, as one that saved" if again else "has ended"
        pbs.logjobmsg(str(job.id), f"pbsteer: it ended with {exit_status} and {done}: {type(error).__name__}: {error}")
        raise
    return None


def _ask_of_restart(pbs: Any, job: Any, exit_status: int) -> None:
    from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import judge_failed_restart

    _act(pbs, job, exit_status, judge_failed_restart)


def _ask(pbs: Any, job: Any, exit_status: int) -> None:
    import time

    from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import judge_end
    from hooks.checkpoint.on_job_host.jobs_of_restarted_mom import find_mom_start

    ended_s = time.time()
    saving = read_saving(pbs.hook_config_filename)
    method, saved_status = saving or UNREAD
    if saving is None:
        what = f"{pbs.hook_config_filename} cannot be read: exit status {saved_status} means saved and not done"
        pbs.logjobmsg(str(job.id), f"pbsteer: {what}")
    could_be = could_be_asked(job, method)
    began_s = find_mom_start(pbs.pbs_conf["PBS_HOME"])
    start_s = float(job.stime) if job.stime else None

    def judge(run: RunOnServer | None) -> Verdict:
        return judge_end(
            exit_status, saved_status, run, ended_s, could_be=could_be, mom_began_s=began_s, host_start_s=start_s
        )

    _act(pbs, job, exit_status, judge)


def _act(pbs: Any, job: Any, exit_status: int, judge: Callable[[RunOnServer | None], Verdict]) -> None:
    import time

    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import ask_server, judge_until_server_back

    began_s = time.time()
    job_id = str(job.id)
    verdict = judge_until_server_back(lambda: ask_server(pbs_ifl, job_id, ANSWER_S), judge, SERVER_BACK_S)
    found = f"after {time.time() - began_s:.1f} s: {verdict.why}"
    if verdict.again:
        pbs.logjobmsg(job_id, f"pbsteer: it ended with {exit_status} and is requeued, {found}")
        job.rerun()
    elif verdict.is_logged:
        pbs.logjobmsg(job_id, f"pbsteer: it ended with {exit_status} and has ended, {found}")
    else:
        pbs.logmsg(pbs.EVENT_DEBUG, f"{job_id};pbsteer: it ended with {exit_status} and has ended, {found}")
