"""What the kernel says about a process: its memory, its children, the processor time that it has used."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_S = os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> float:
    """The most memory that the process ever held, in MiB."""
    return _status_kib(pid, "VmHWM") / 1024


def cpu_s(pid: int) -> float:
    """The processor time that all its threads have used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_S


def children_of(pid: int) -> list[int]:
    """The processes that it has started and that still run."""
    return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _words(task / "children")]


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _status_kib(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
