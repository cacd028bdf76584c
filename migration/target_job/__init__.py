"""What a target does with one job: upload, build, submit, watch, download."""
