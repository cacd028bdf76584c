"""P1 and P2: which runs may be preempted for a job, and the smallest set of them that makes room."""
