"""Reads migration's files on this host, and stops migrating jobs by ``mgstop``.

It imports nothing of migration until one look has found that this site has other clusters.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from migration.config.mg_home_folder import FILE, home
from tui.backends.interface.backend_protocol import Backend, BackendError, NotSentError, Reply
from tui.backends.interface.read_value_before_and_after_change import UNDER_WAY
from tui.backends.reader_or_programs.run_program import run

if TYPE_CHECKING:
    from migration.config.cluster_file import ClusterFile
    from migration.spool.spool import Spool
    from policy.migration.job_record_and_copy_updates import Record
    from tui.model.migrating_jobs import Migration

MIGRATING_JOB = "migrating job"
"""The kind of target of operations on these jobs."""

PROGRAM = "mgstop"
_TIMEOUT_S = 30.0


class MigrationSpool:
    """The files of the cluster whose server ``backend`` is. It keeps what it has read, and reads only the files that
    were replaced since.
    """

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.time) -> None:
        self._backend, self._clock = backend, clock
        self._home = home()
        self._reading = threading.Lock()
        self._spool: Spool | None = None
        self._file: ClusterFile | None = None
        self._stamp: tuple[int, int] | None = None

    def read_migration(self) -> Migration | None:
        """The jobs and clusters; None where the site has no other clusters, or the server is not this host's."""
        stamp: tuple[int, int] | None
        try:
            info = (self._home / FILE).stat()
            stamp = (info.st_mtime_ns, info.st_ino)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            stamp = None
        if self._backend.simulated or self._backend.shared_audit() is None:
            return None
        with self._reading:
            return self._read(stamp)

    def _read(self, stamp: tuple[int, int] | None) -> Migration | None:
        from migration.cli.migrating_job_in_words import why_paused  # noqa: PLC0415 - see above
        from migration.config.cluster_file import ClusterFileError  # noqa: PLC0415
        from migration.config.read_cluster_file import read_cluster_file  # noqa: PLC0415
        from migration.passes.source.notes_on_other_clusters import read_notes  # noqa: PLC0415
        from migration.spool.public_queue_copy import find_readable  # noqa: PLC0415
        from migration.spool.queue_file import Queue  # noqa: PLC0415
        from migration.spool.read_jobs_without_lock import ALL_JOBS, newest_copies  # noqa: PLC0415
        from migration.spool.spool import Spool, SpoolError  # noqa: PLC0415
        from tui.model.migrating_jobs import Migration, is_shown  # noqa: PLC0415

        try:
            if self._file is None or stamp is None or stamp != self._stamp:
                self._file, self._stamp = read_cluster_file(self._home), stamp
            if self._file is None or not self._file.others:
                return None
            self._spool = self._spool or Spool(self._home)
            found = newest_copies(self._spool, ALL_JOBS)
        except (ClusterFileError, SpoolError) as error:
            self._file = None
            return Migration(problem=str(error).partition("\n")[0])
        this, now_s = self._file.this.name, self._clock()
        shown = {gid: record for gid, (_, record) in found.items() if is_shown(record, this, now_s)}
        in_part = any(find_readable(path) != path for path in (self._home / queue.value for queue in Queue))
        notes, order = read_notes(self._home), self._file.placing.order
        pauses = {name: why for name in order if (why := why_paused(self._file.here, name, notes.of(name)))}
        return Migration(this, order, shown, notes, now_s, in_part=in_part, pauses=pauses)

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """The values of one job by which a stop is decided: ``state`` and ``stop``. Raises :class:`BackendError`."""
        if kind != MIGRATING_JOB:
            raise BackendError(f"{kind} {name}: migration's files have jobs only")
        found = self.read_migration()
        if found is None or found.problem:
            raise BackendError(found.problem if found is not None else f"{self._home}: no {FILE}")
        record = found.records.get(name)
        return None if record is None else stop_attributes(record)

    def run(self, argv: Sequence[str]) -> Reply:
        """Run ``mgstop`` as the console's user. Raises :class:`BackendError`."""
        from migration.programs.program_search_path import own_program  # noqa: PLC0415 - only where there are other clusters

        program, *arguments = argv
        if program != PROGRAM:
            raise NotSentError(f"{program!r}: of migration's programs only {PROGRAM} is run here")
        ended = run([own_program(PROGRAM), *arguments], _TIMEOUT_S)
        return Reply(ended.status == 0, ended.words)


def stop_attributes(record: Record) -> dict[str, str]:
    """The values of one job by which a stop is decided."""
    return {"state": record.state if record.final else UNDER_WAY, "stop": record.stop}
