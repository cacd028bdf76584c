"""The preview of ``drive`` for an express queue of PBS's scheduler says that its jobs will preempt no job for that."""

from __future__ import annotations

from pathlib import Path

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from tests.tui.operate_on_screen import looking
from tests.tui.scripted_server import ScriptedBackend, changed


async def test_the_preview_of_drive_tells_it(backend: ScriptedBackend, audit: Path, tmp_path: Path) -> None:
    (tmp_path / "sched_config").write_text("preemptive_sched: true ALL\n")
    sched = {"scheduling": "True", "partition": "pbs-default", "sched_priv": str(tmp_path), "state": "idle"}
    queues = {
        name: {**texts, "Priority": "150", MODE_ATTRIBUTE: "observe"}
        for name, texts in backend.server_status.queues.items()
    }
    backend.server_status = changed(backend.server_status, scheds={"default": sched}, queues=queues)
    async with looking(backend, audit, "mode workq drive") as steered:
        assert "queue workq: its Priority 150 reaches preempt_queue_prio (150)" in " ".join(steered.text.split())
    async with looking(backend, audit, "mode workq advise") as steered:
        assert "reaches preempt_queue_prio" not in steered.text
