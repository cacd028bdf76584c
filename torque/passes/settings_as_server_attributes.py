"""Quotas, priorities and the mode of the settings file as the attributes that queues and server have in PBS.

Torque has no soft limits, no limits by user and no custom resources, so the file has what ``qmgr`` has in PBS, in the
tables ``[[queue]]`` and ``[cluster]`` with which a simulated cluster is described. From here on the decision is the
same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PAUSED_ATTRIBUTE, PRIORITY_ATTRIBUTE, SOFT_LIMIT
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER, Attributes, Objects, ServerStatus
from policy.model.limit_attributes import show_limits
from policy.settings.settings_of_server_and_passes import ALWAYS
from policy.settings.simulated_queues import TORQUE_MODES, QueueSettings
from policy.settings.site_settings import OrderSettings, Settings, SettingsError

_SAVE = f"Resource_List.{SAVE}"
_REQUEUE = "requeue"
_HARD_LIMIT = "max_run_res"
_REQUEUED_STATUS = "automatic_requeue_exit_code"


def check_for_torque(settings: Settings, where: str) -> Settings:
    """The settings as they hold on Torque: its queues have no order of a PBS scheduler, and it has no hooks for
    starts and ends. Raises :class:`SettingsError` for what only PBS can."""
    problems = []
    allowed = " or ".join(TORQUE_MODES)
    if settings.server.mode not in TORQUE_MODES:
        problems.append(f"{where}: server.mode = {settings.server.mode!r}; allowed on Torque is {allowed}")
    method = settings.checkpoint.method
    if method != _REQUEUE:
        asks = "a job asks for the signal by qsub -W x=pbsteer_save:signal"
        problems.append(f"{where}: checkpoint.method = {method!r}; allowed on Torque is {_REQUEUE}: {asks}")
    if problems:
        raise SettingsError(problems)
    order = OrderSettings(settings.order.user_priority, "age")
    return replace(settings, order=order, server=replace(settings.server, guard_starts=ALWAYS, end_hook=ALWAYS))


def queues_saved_jobs(settings: Settings, server: Mapping[str, str]) -> bool:
    """Whether the server queues a job again that has saved itself and ended with the agreed status. Without that such
    a job would be over for good."""
    return server.get(_REQUEUED_STATUS, "") == str(settings.checkpoint.exit_status)


def without_unsafe_wishes(jobs: Objects, *, may_signal: bool) -> Objects:
    """The jobs without wishes to save that would lose them. Torque knows no checkpoint, and takes the end of a job that
    dies of the signal for final, so only jobs that ask for the signal get it."""
    kept: dict[str, Attributes] = {}
    for job_id, texts in jobs.items():
        wish = texts.get(_SAVE, "")
        is_safe = not wish or (wish == "signal" and may_signal)
        kept[job_id] = texts if is_safe else {name: text for name, text in texts.items() if name != _SAVE}
    return kept


def find_unknown_queues(settings: Settings, queues: Collection[str]) -> Iterator[str]:
    """A sentence for each queue of the settings that is not among the server's."""
    for queue in settings.queues:
        if queue.name not in queues:
            yield f"the settings have limits for queue {queue.name!r}, which the server does not have"


def drives(settings: Settings) -> bool:
    """Whether any queue may be in the mode ``drive``."""
    return "drive" in (settings.server.mode, *(queue.mode for queue in settings.queues))


def with_settings(status: ServerStatus, settings: Settings, *, is_stopped: bool) -> ServerStatus:
    """The status with the settings' limits and priorities, and with what says in PBS that its scheduler is off in the
    mode ``drive``. ``is_stopped``: ``scheduling`` of the server is False, which pauses pbsteer as in PBS."""
    of_queue = {queue.name: queue for queue in settings.queues}
    queues = {
        name: {**texts, **attributes_of(of_queue[name])} if name in of_queue else texts
        for name, texts in status.queues.items()
    }
    server = {**status.server, **attributes_of(settings.cluster)}
    # A True means to PBS that its scheduler starts jobs; in Torque it lets the server wake the process that listens.
    server.pop("scheduling", None)
    if is_stopped:
        server["scheduling"] = "False"
    scheduling = "False" if drives(settings) else "True"
    return replace(status, queues=queues, server=server, scheds={DEFAULT_SCHEDULER: {"scheduling": scheduling}})


def attributes_of(queue: QueueSettings) -> dict[str, str]:
    """What PBS's server would show of a queue, or of the whole cluster, with these limits."""
    found = {f"{SOFT_LIMIT}.{name}": show_limits(limits) for name, limits in queue.quotas.items()}
    found.update({f"{_HARD_LIMIT}.{name}": show_limits(limits) for name, limits in queue.max_run_res.items()})
    if queue.priorities:
        found[PRIORITY_ATTRIBUTE] = show_limits(queue.priorities)
    if queue.priority:
        found["Priority"] = str(queue.priority)
    if queue.mode:
        found[MODE_ATTRIBUTE] = queue.mode
    if queue.paused:
        found[PAUSED_ATTRIBUTE] = queue.paused
    return found
