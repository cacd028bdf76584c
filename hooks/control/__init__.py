"""Whether and when a pass may act: the mode of PBS's schedulers, obstacles, the circuit breaker, early passes."""
