"""``pbsteer hooks alert``: sends a test alert as a pass would, and reports the result."""

from __future__ import annotations

import time

from hooks.alerts.alert_command import run_program
from hooks.alerts.pass_alerts import on_stdin
from hooks.alerts.syslog import NOTICE, send_line
from policy.settings.site_settings import Settings

TEST = "a test of alerts, sent by pbsteer hooks alert; nothing is wrong"


def send_test(settings: Settings) -> tuple[list[str], bool]:
    """Send a test alert; returns the results as lines, and whether all went well. Waits for the command, up to its time
    limit.
    """
    unsent = send_line(TEST, NOTICE)
    lines = [f"syslog: {unsent or 'sent (facility daemon, severity notice, tag pbsteer)'}"]
    command = settings.alerts.command
    if not command:
        return [*lines, "command: none (alerts.command in the settings)"], not unsent
    begun_s = time.monotonic()
    problem = run_program(command, on_stdin(TEST))
    lines.append(f"command {command[0]}: {problem or f'ended with 0 after {time.monotonic() - begun_s:.1f} s'}")
    return lines, not unsent and not problem
