"""P3: a head's reservation, its shadow time and its promise, and estimates of run times."""
