"""Finds which of pbsteer's hooks the server does not run, in the words of ``pbsteer hooks status``.

Only root on the server's host may list hooks; for other users the result is empty.
"""

from __future__ import annotations

from hooks.deploy.hook_events_alarms_and_order import is_switched_by_passes
from hooks.deploy.hook_names import HOOKS
from hooks.pbs.files_and_output.parse_qmgr_list import parse_list
from policy.settings.site_settings import Settings
from tui.backends.interface.backend_protocol import Backend, BackendError


def find_hook_faults(backend: Backend, settings: Settings) -> tuple[str, ...]:
    """A sentence for each hook that is disabled, or missing beside others of ours; none where there are no hooks. One
    that passes switch by these settings may be off."""
    if "mode" in backend.commands.unsupported:
        return ()
    try:
        reply = backend.run(("qmgr", "-c", "list hook @default"))
    except BackendError:
        return ()
    listed = parse_list(reply.text) if reply.ok else {}
    if not any(name in listed for name in HOOKS):
        return ()
    faults = []
    for name, event in HOOKS.items():
        if name not in listed:
            faults.append(f"hook {name}: not there: pbsteer hooks apply brings it back")
        elif listed[name].get("enabled") != "true" and not is_switched_by_passes(event, settings):
            faults.append(f'hook {name}: DISABLED: qmgr -c "set hook {name} enabled = true" ends it')
    return tuple(faults)
