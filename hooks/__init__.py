"""Doing it in PBS: what the server says becomes a snapshot, and what a plan says becomes requests to the server.

The entry files in :mod:`hooks.entries` run inside pbs_server, each bundled with the modules it needs into one file; the
rest of this package is those modules, and the means to put the bundles into a server and take them out again. Standard
library only, since all of it runs under PBS's own Python.
"""
