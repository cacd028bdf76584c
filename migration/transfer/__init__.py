"""Moving a job's folder and shared input files between two clusters with rsync over ssh."""
