"""The periodic passes: the source's over its requests, the target's over the jobs that it has accepted. Beside them is
what both ends share, and the check of the setup.
"""
