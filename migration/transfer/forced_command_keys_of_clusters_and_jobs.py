"""The lines of authorized_keys for the service's account: a key for each cluster, and one for each job under way.

Each line forces a program. sshd requests the lines at every connection, so a key is valid only while its job is under
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Callable

from migration.config.cluster_file import PUBLISHED_KEY, ClusterFile
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import AT_SOURCE


def write_lines(
    file: ClusterFile, records: Iterable[Record], program: Callable[[str], str], offered: str
) -> Iterator[str]:
    """The lines for the key that a connection offers. ``program`` gives a program's path."""
    serve, data = program("mgserve"), program("mgdata")
    for cluster in file.others:
        if cluster.key == offered and PUBLISHED_KEY.fullmatch(offered):
            yield f'restrict,command="{serve} {cluster.name}" {offered}\n'
    for record in records:
        if record.datakey == offered and PUBLISHED_KEY.fullmatch(offered) and has_data_access(record):
            yield f'restrict,command="{data} {record.gid} {record.attempt}" {offered}\n'


def has_data_access(record: Record) -> bool:
    """Whether a target may still ask for the job's data. One that is resumed after Aborted may again, once the source
    has heard so and follows the job."""
    return not record.in_place and record.state not in AT_SOURCE and not record.final
