"""One file for each phase of a job at its target: upload, build, submit, follow, download, stop."""
