"""PBS's own files (accounting, fair share, ``sched_config``), and what its programs print."""
