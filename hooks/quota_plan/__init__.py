"""Planned quotas in the passes: the plan's files, what is due, and setting it on the server."""
