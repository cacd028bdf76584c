"""The attributes of a server and of a scheduler right after PBS was installed."""

from __future__ import annotations

VERSION = "23.06.06"


def fresh_server(name: str) -> dict[str, str]:
    """A new server's attributes, except its counts."""
    return {
        "server_host": name, "scheduling": "True", "log_events": "511",
        "mailer": "/usr/sbin/sendmail", "mail_from": "adm", "query_other_jobs": "True", "resources_default.ncpus": "1",
        "default_chunk.ncpus": "1", "scheduler_iteration": "600", "flatuid": "True", "resv_enable": "True",
        "node_fail_requeue": "310", "max_array_size": "10000", "resend_term_delay": "5", "pbs_license_min": "0",
        "pbs_license_max": "2147483647", "pbs_license_linger_time": "31536000",
        "license_count": "Avail_Global:1000000 Avail_Local:1000000 Used:0 High_Use:0", "pbs_version": VERSION,
        "eligible_time_enable": "False", "job_history_enable": "True", "max_concurrent_provision": "5",
        "clear_topjob_estimates_enable": "False", "power_provisioning": "False", "max_job_sequence_id": "9999999",
    }  # fmt: skip


def fresh_scheduler(host: str) -> dict[str, str]:
    """The default scheduler's attributes."""
    return {
        "sched_host": host, "sched_cycle_length": "00:20:00", "throughput_mode": "True", "job_run_wait": "runjob_hook",
        "partition": "pbs-default", "sched_priv": "sched_priv", "sched_log": "sched_logs", "scheduling": "True",
        "scheduler_iteration": "600", "state": "idle", "preempt_queue_prio": "150",
        "preempt_prio": "express_queue, normal_jobs", "preempt_order": "SCR",
        "preempt_sort": "min_time_since_start", "log_events": "767", "server_dyn_res_alarm": "30",
    }  # fmt: skip
