"""The root helper: one program with root's rights, which becomes a user and does one of a fixed list of operations."""
