"""Runs on the server's host: one reader that is asked while the server is stopped in between, and after it goes on.

Prints one object of JSON: the numbers of jobs of each poll (null: it ended with an error), and the errors.
Usage: poll_while_server_stops.py TIMEOUT_S
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

from tui.backends.find_torque import find_torque
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.torque.torque_reader import torque_reader


def main(timeout_s: float) -> None:
    place = find_torque(os.environ)
    assert place is not None
    reader = torque_reader(place, timeout_s)
    counts: list[int | None] = []
    errors: list[str] = []

    def poll() -> None:
        try:
            counts.append(len(reader.server_status().jobs))
        except BackendError as error:
            counts.append(None)
            errors.append(str(error))

    def poll_thrice() -> None:
        for _ in range(3):
            poll()

    poll()
    server = int(subprocess.run(["pgrep", "-x", "pbs_server"], capture_output=True, text=True, check=True).stdout)
    # Stopped in the middle of many answers, so that replies come too late, not only connections.
    for pause_s in (0.0, 0.01, 0.03):
        asked = threading.Thread(target=poll_thrice)
        asked.start()
        time.sleep(pause_s)
        os.kill(server, signal.SIGSTOP)
        time.sleep(timeout_s + 1.0)
        os.kill(server, signal.SIGCONT)
        asked.join()
    poll()
    reader.close()
    print(json.dumps({"jobs": counts, "errors": errors}))  # noqa: T201


if __name__ == "__main__":
    main(float(sys.argv[1]))
