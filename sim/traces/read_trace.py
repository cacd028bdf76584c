"""Reads a recorded workload in any supported form: Standard Workload Format, or a PBS accounting log.

The form is recognised by a file's content, not its name. A folder is an accounting log, and so are several files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sim.traces.accounting_log import read_accounting
from sim.traces.accounting_log_files_and_lines import AccountingError, is_accounting
from sim.traces.read_swf import SwfError, read_swf
from sim.workload.workload import Cluster, Workload


class TraceError(ValueError):
    """The trace cannot be read; the message names the file, the line where there is one, and why."""


def read_trace(path: Path, cluster: Cluster | None = None) -> Workload:
    """Read a trace for `cluster`, or for the cluster that it names. Raises TraceError.

    A trace in Standard Workload Format usually names its cluster; an accounting log never does, and the error then says
    how large the cluster was at least.
    """
    return read_traces([path], cluster)


def read_traces(paths: Sequence[Path], cluster: Cluster | None = None) -> Workload:
    """Read one trace; several paths are the files of one accounting log. Raises TraceError."""
    try:
        if len(paths) > 1 or is_accounting(paths[0]):
            return read_accounting(paths, cluster)
        return read_swf(paths[0], cluster)
    except (AccountingError, SwfError) as error:
        raise TraceError(str(error)) from error
