"""The PBS side: translates the server's status into a snapshot, and a plan into requests to the server.

The entry files in :mod:`hooks.entries` run inside pbs_server, each bundled into one file with the modules it needs. The
rest of this package is those modules and the deployment that installs and removes the bundles. Standard library only:
all of it runs under PBS's own Python.
"""
