"""What a target does with one job, a file for each phase (upload, build, submit, watch, download, stop), and what the
phases share: the job's files, its lock, the bounds for disks that hang."""
