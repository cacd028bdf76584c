"""What a comparison of replays shows beyond their means: which jobs are measured, gains with intervals, and what it costs users,
sizes of jobs and single jobs."""
