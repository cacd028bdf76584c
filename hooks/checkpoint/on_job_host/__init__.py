"""What a job's host decides on its own: whether an ended job is requeued, and which restarted jobs run."""
