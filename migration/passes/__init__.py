"""The periodic passes: the source's over its requests, and the target's over what it has accepted."""
