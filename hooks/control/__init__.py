"""Control of the passes: whether and when a pass may act (schedulers, obstacles, circuit breaker, early passes)."""
