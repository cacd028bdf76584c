"""The plan carried out within the time of a pass: starts, preemptions, comments and priorities."""
