"""Installs the hooks in a server, removes them without a trace, and checks whether they work."""
