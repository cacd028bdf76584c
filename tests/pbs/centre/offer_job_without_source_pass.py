"""Run on a source's server as the service: what a source does with one job, without its pass.

With ``offer CLUSTER JSON`` it writes the record, hands it over and folds the reply; with ``ask CLUSTER VERB JSON`` it
sends one message, prints the reply, and folds the records in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from migration.config.mg_home_folder import home
from migration.config.read_cluster_file import read_cluster_file
from migration.protocol.message_lines_and_fields import from_line_bytes, to_line_bytes
from migration.protocol.questions import About, Hand, Query
from migration.protocol.replies import Reply, State, States, Taken, reply_from_data
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record, fold
from policy.migration.job_states_and_transitions import OFFERED

SPOOL = Spool(home())
FILE = read_cluster_file(home())


def send(cluster: str, verb: str, data: dict[str, Any]) -> Reply:
    assert FILE is not None
    other = FILE.other(cluster)
    assert other is not None
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "StrictHostKeyChecking=yes"]
    argv = ["ssh", *options, other.ssh, f"mg {verb}"]
    done = subprocess.run(argv, input=to_line_bytes(data), capture_output=True, timeout=60, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    reply = reply_from_data(from_line_bytes(done.stdout), time.time())
    records: tuple[Record, ...] = ()
    if isinstance(reply, (Taken, State)):
        records = (reply.record,)
    elif isinstance(reply, States):
        records = reply.records
    with SPOOL.change() as change:
        for theirs in records:
            mine = next((one for one in change.records(Queue.SENT) if one.gid == theirs.gid), None)
            folded = fold(mine, theirs) if mine else None
            if folded is not None:
                change.put(Queue.SENT, folded)
    return reply


def main(words: list[str]) -> None:
    what, cluster, *rest = words
    now_s = time.time()
    if what == "offer":
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(rest[0]).items()
        }
        assert FILE is not None
        with SPOOL.change() as change:
            fields = {"gid": change.next_gids(FILE.this.name, 1)[0], **fields} if "gid" not in fields else fields
            record = Record(src=FILE.this.name, dst=cluster, state=OFFERED, created=int(now_s), **fields)
            if change.find(record.gid) is None:
                change.put(Queue.SENT, record)
        print(record.gid, send(cluster, "accept", Hand(record).to_data(now_s)))  # noqa: T201
        return
    verb, data = rest[0], json.loads(rest[1])
    body = Query(tuple(data["gids"])).to_data() if verb == "query" else About(**data).to_data() if data else {"v": 1}
    print(send(cluster, verb, body))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
