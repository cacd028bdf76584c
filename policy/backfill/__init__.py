"""P3: the reservation of a head, its shadow time and its promise, and estimates of run times."""
