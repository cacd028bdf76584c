"""The file of the audit that all administrators of a server share, and since when requests are recorded in it.

Requests are recorded by the hook of PBS's ``management`` event while it is enabled. PBS keeps a hook's attributes in a
file of root's, so the pass sees there whether it is.
"""

from __future__ import annotations

from pathlib import Path

from hooks.store.state_folder import state_folder

CHANGES = "changes.jsonl"
RECORDED = "changes-recorded.json"
"""Published by the pass: ``since_s``, when the recording began; None while requests are not recorded."""
FULL_BYTES = 8 << 20
"""A file over this is renamed before the next line."""
_HOOK = "pbsteer_management"


def changes_file(pbs_home: str) -> Path:
    """The audit of the server with this PBS_HOME."""
    return state_folder(pbs_home) / CHANGES


def find_recording_s(pbs_home: str) -> float | None:
    """When the hook that records requests was last enabled or changed; None if the server has none or does not run
    it."""
    folder = Path(pbs_home) / "server_priv" / "hooks"
    attributes = folder / f"{_HOOK}.HK"
    try:
        (folder / f"{_HOOK}.PY").stat()
        # PBS writes only values other than its defaults: an enabled hook has no such line.
        is_enabled = "enabled=false" not in attributes.read_text(encoding="utf-8", errors="replace").splitlines()
        return attributes.stat().st_mtime if is_enabled else None
    except OSError:
        return None
