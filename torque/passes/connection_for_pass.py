"""The connection of a pass to a Torque server: reads the whole status in PBS's words, and acts as on PBS.

Between the passes of one process the jobs are kept, so that each reads only those that have changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Callable

from hooks.pbs.client.pbs_ifl_client import Connection, IflError, ServerAwayError
from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from policy.model.limit_attributes import parse_limits, show_entity
from policy.settings.site_settings import Settings
from torque.act.torque_as_pbs_ifl import TorqueAsPbsIfl
from torque.passes.settings_as_server_attributes import (
    attributes_of,
    queues_saved_jobs,
    with_settings,
    without_unsafe_wishes,
)
from torque.passes.watched_settings import EDIT, NO_ENTRY, WatchedSettings
from torque.read.known_jobs import KnownJobs
from torque.read.libtorque_connection import TorqueError
from torque.translate.arrays import fold_arrays
from torque.translate.node_reading import read_reading
from torque.translate.nodes import read_node
from torque.translate.server_status import status_of


class PassConnection(Connection):
    """One connection; ``known`` are the jobs that earlier passes have read, ``settings`` those that hold in this pass,
    and ``file`` is where they come from."""

    most_starts_without_reply = 0
    """Torque replies to each start, and shows the job as waiting for a moment yet."""

    def __init__(self, ifl: TorqueAsPbsIfl, known: KnownJobs, settings: Settings, file: WatchedSettings) -> None:
        super().__init__(ifl)
        self._torque = ifl.connection(self._handle)
        self._known = known
        self._settings, self._file = settings, file

    def read_server_status(
        self, time_s: float, find_more: Callable[[ServerStatus], Sequence[str]] | None = None
    ) -> ServerStatus:
        """The whole status. ``find_more`` is not asked: all attributes are read, and there are no scheduler's files.
        Raises :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        try:
            return self._read_status(time_s)
        except TorqueError as error:
            self._known.forget()
            raise (ServerAwayError if not error.code else IflError)(str(error), error.code) from error

    def _read_status(self, time_s: float) -> ServerStatus:
        source = self._torque
        name, server = source.read_server()
        nodes = dict(source.walk_nodes())
        known = fold_arrays(self._known.read(source, server, nodes))
        jobs = without_unsafe_wishes(known, may_signal=queues_saved_jobs(self._settings, server))
        vnodes = {}
        for each, texts in nodes.items():
            reading = read_reading(texts.get("status", ""))
            vnodes[each] = {
                **read_node(each, texts),
                **({f"resources_available.{READING}": reading} if reading else {}),
            }
        status = status_of(time_s, {NAME: name, **server}, dict(source.walk_queues()), vnodes, jobs)
        return with_settings(status, self._settings, is_stopped=server.get("scheduling", "") == "False")

    # Planned quotas are set in the settings file, which has the limits of the next pass

    def read_service(self, time_s: float) -> ServerStatus:
        """The queues with the limits that the file has now. Raises
        :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        settings = self._file.current()
        if self._file.complaint:
            raise IflError(self._file.complaint)
        queues = {queue.name: attributes_of(queue) for queue in settings.queues}
        return ServerStatus(time_s, {}, queues, {}, {}, {}, {})

    def read_server(self, more: Sequence[str] = ()) -> dict[str, str]:
        """The limits that the file has now for the whole cluster."""
        return attributes_of(self._file.current().cluster)

    def change_soft_limits(
        self, queue: str, resource: str, entries: str, *, remove: bool = False, is_last: bool = False
    ) -> None:
        """Change entries of soft quotas in the settings file. Raises
        :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        words = self._edit_of(queue, resource, entries, remove=remove)
        try:
            self._file.edit(words)
        except (OSError, ValueError) as error:
            raise IflError(f"cannot set {words[-1]}: {error}") from error

    def soft_limits_command(
        self, queue: str, resource: str, entries: str, *, remove: bool = False, is_last: bool = False
    ) -> str:
        """The words of the edit."""
        return shlex.join((EDIT, *self._edit_of(queue, resource, entries, remove=remove)))

    def _edit_of(self, queue: str, resource: str, entries: str, *, remove: bool) -> tuple[str, ...]:
        if remove:
            limits = parse_limits(entries, resource).entries
            entries = ",".join(f"[{show_entity(entity)}={NO_ENTRY}]" for entity in limits)
        return self._file.edit_of_quotas(queue, resource, entries)


def look_at_server(ifl: TorqueAsPbsIfl) -> tuple[Mapping[str, str], Collection[str]]:
    """The server's attributes in its own words, and the names of its queues. Raises
    :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
    handle = ifl.pbs_connect(None)
    if handle < 0:
        raise ServerAwayError(ifl.pbs_geterrmsg(handle))
    try:
        source = ifl.connection(handle)
        return source.read_server()[1], [name for name, _ in source.walk_queues()]
    except TorqueError as error:
        raise IflError(str(error), error.code) from error
    finally:
        ifl.pbs_disconnect(handle)
