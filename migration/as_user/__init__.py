"""Programs run as the user of a job, through one root helper with a fixed list."""
