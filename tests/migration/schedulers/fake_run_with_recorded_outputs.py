"""A :class:`Run` that answers from recorded outputs and keeps what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Union

from migration.programs.run_external_program_with_limits import Finished

Recorded = Union[str, Finished]


class Call(NamedTuple):
    argv: tuple[str, ...]
    user: str | None
    cwd: str | None


class FakeRun:
    """``outputs`` by the beginning of the command line, the longest first."""

    def __init__(self, outputs: Mapping[str, Recorded]) -> None:
        self._outputs = sorted(outputs.items(), key=lambda item: -len(item[0]))
        self.calls: list[Call] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        self.calls.append(Call(tuple(argv), user, cwd))
        for begin, output in self._outputs:
            if " ".join(argv).startswith(begin):
                return output if isinstance(output, Finished) else Finished(0, output.encode(), b"")
        raise AssertionError(f"nothing recorded for {argv}")


def failed(status: int, err: str, out: str = "") -> Finished:
    return Finished(status, out.encode(), err.encode())
