"""The periodic passes: the source's over its requests, and the target's over what it has accepted. Here is what both
ends share, and the check of the setup by ``pbsteer migrate``."""
