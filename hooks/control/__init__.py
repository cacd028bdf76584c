"""Control of the passes: whether and when a pass may act (circuit breaker, time limits, early passes, and what the
schedulers and switched hooks do meanwhile)."""
