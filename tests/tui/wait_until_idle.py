"""How long a pilot waits after each key: until the console uses no CPU at short looks, and has nothing to
handle or paint.

Textual's own looks take 20 ms, twice for each key, which is most of a console test's time. These take as long only
while a worker of the console runs: its thread may be waiting for a core. So may the console itself on a busy machine,
which uses no CPU then either.
"""

from __future__ import annotations

import asyncio
import time

from textual._context import active_app

LOOK_S, LOOK_AT_WORKERS_S = 0.004, 0.02
IDLE_SHARE = 0.05
"""A look at which the process uses no larger share of a core finds it idle, as with Textual's."""


async def wait_until_idle(min_sleep: float = LOOK_AT_WORKERS_S, max_sleep: float = 1.0) -> None:
    """In place of ``textual._wait.wait_for_idle``."""
    begun_s = time.monotonic()
    while True:
        looked_s, used_s = time.monotonic(), time.process_time()
        had_workers = _has_workers()
        await asyncio.sleep(LOOK_AT_WORKERS_S if had_workers else LOOK_S)
        now_s = time.monotonic()
        is_quiet = time.process_time() - used_s < IDLE_SHARE * (now_s - looked_s)
        # A worker that began during this look gets a longer one.
        is_idle = is_quiet and (had_workers or not _has_workers()) and not _has_more_to_do()
        if now_s - begun_s >= max_sleep or (is_idle and now_s - begun_s >= min_sleep):
            return


def _has_workers() -> bool:
    app = active_app.get(None)
    return app is not None and any(worker.is_running for worker in app.workers)


def _has_more_to_do() -> bool:
    """Whether a message waits to be handled, or a part of the screen to be painted."""
    app = active_app.get(None)
    if app is None or not app.screen_stack:
        return False
    screen = app.screen
    if screen._layout_required or screen._repaint_required or screen._dirty_widgets or screen._callbacks:
        return True
    pumps = (app, screen, *screen.walk_children())
    return any(pump.message_queue_size or pump._next_callbacks for pump in pumps)
