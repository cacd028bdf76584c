"""Waiting for the next pass: Torque's server wakes its scheduler by a connection when jobs come and go.

With ``scheduling = True`` the server connects to the port of schedulers and sends a number (``sched_cmds.h``), which is
not used: the next pass reads what has changed. Connections from other hosts are not the server's, and are closed.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time

PORT = 15004
_BACKLOG = 64
_PATIENCE_S = 0.2
_LENGTH = 4


class PortTakenError(Exception):
    """The port of schedulers is another process's."""


class WakeUps:
    """Listens on the port. ``stop`` is a descriptor that ends each wait once it can be read."""

    def __init__(self, port: int, stop: int) -> None:
        self._port, self._stop = port, stop
        self._socket: socket.socket | None = None

    @property
    def is_listening(self) -> bool:
        """Whether the server can wake us."""
        return self._socket is not None

    def listen(self) -> None:
        """Listen on the port, if we do not yet. Raises :class:`PortTakenError`."""
        if self._socket is not None:
            return
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("", self._port))
            found.listen(_BACKLOG)
        except OSError as error:
            found.close()
            raise PortTakenError(f"port {self._port}: {error.strerror}") from error
        found.setblocking(False)
        self._socket = found

    def close(self) -> None:
        """Give the port back, for another scheduler."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @property
    def is_stopped(self) -> bool:
        """Whether ``stop`` can be read."""
        return bool(select.select([self._stop], [], [], 0)[0])

    def pause(self, seconds: float) -> None:
        """Wait without hearing wake-ups, which stay until the next :meth:`wait`."""
        if seconds > 0:
            select.select([self._stop], [], [], seconds)

    def wait(self, seconds: float) -> bool:
        """Wait for a wake-up, or until the time is over or ``stop`` can be read; whether we were woken."""
        until_s = time.monotonic() + seconds
        watched: list[socket.socket | int] = [self._stop, *([self._socket] if self._socket is not None else [])]
        while True:
            ready = select.select(watched, [], [], max(0.0, until_s - time.monotonic()))[0]
            if not ready or self._stop in ready:
                return False
            if self._take_waiting():
                return True
            if time.monotonic() >= until_s:
                return False

    def _take_waiting(self) -> bool:
        """Take the connections that wait; whether one of them was a wake-up of this host's server. Every user of the
        host can connect, without a word and without end, so all together get the patience that one does."""
        assert self._socket is not None  # noqa: S101 - only called once it can be read
        until_s = time.monotonic() + _PATIENCE_S
        is_woken = False
        while (left_s := until_s - time.monotonic()) > 0:
            try:
                connection, peer = self._socket.accept()
            except OSError:
                break
            with connection, contextlib.suppress(OSError):
                own = connection.getsockname()[0]
                if peer[0] == own or peer[0].startswith("127."):
                    connection.settimeout(left_s)
                    is_woken = len(connection.recv(_LENGTH)) > 0 or is_woken
        return is_woken
