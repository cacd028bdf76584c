"""What a Torque server has changed since the last request, as the differences with which a console updates its status.

The wire format is that of :mod:`hooks.reader.status_differences`. What has changed is found by comparison with what was
sent; the jobs are read as far as they changed (:mod:`torque.read.known_jobs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from hooks.pbs.server_status_type_and_attributes import NAME, Attributes
from hooks.reader.rows_with_shared_keys import Part, Rows, rest_of
from torque.read.believe_job_list import ReadingUser
from torque.read.known_jobs import KnownJobs, Source
from torque.translate.arrays import fold_arrays
from torque.translate.nodes import read_node
from torque.translate.server_status import status_of

WHOLE_AGAIN_S = 600.0


class TorqueDifferences:
    """The differences for one console. After an answer that was not delivered to its end, call :meth:`forget`."""

    def __init__(self, reader: ReadingUser) -> None:
        self._jobs = KnownJobs(reader)
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next answer is whole."""
        self._rows = Rows()
        self._jobs.forget()
        self._sent: dict[str, dict[str, Attributes]] = {"jobs": {}, "vnodes": {}}
        self._whole_s: float | None = None

    def answer(self, source: Source, time_s: float, *, whole: bool = False) -> Iterator[Part]:
        """The next answer; ``time_s`` is the caller's clock. Raises :class:`TorqueError`."""
        begun_anew = whole or self._whole_s is None or not 0 <= time_s - self._whole_s < WHOLE_AGAIN_S
        if begun_anew:
            self.forget()
        name, server = source.read_server()
        nodes = dict(source.walk_nodes())
        known = self._jobs.read(source, server, nodes)
        queues = dict(source.walk_queues())
        vnodes: dict[str, Attributes] = {each: read_node(each, texts) for each, texts in nodes.items()}
        jobs = fold_arrays(known)
        if begun_anew:
            yield {"anew": True}
        gone = {}
        for kind, objects in (("jobs", jobs), ("vnodes", vnodes)):
            sent = self._sent[kind]
            gone[kind] = sorted(sent.keys() - objects.keys())
            changed = ((each, texts) for each, texts in objects.items() if sent.get(each) != texts)
            yield from self._rows.of(kind, changed)
            self._sent[kind] = objects
        if any(gone.values()):
            yield {"gone": gone}
        if begun_anew:
            self._whole_s = time_s
        yield {"rest": rest_of(status_of(time_s, {NAME: name, **server}, queues, vnodes, {}))}
