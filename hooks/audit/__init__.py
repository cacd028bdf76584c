"""The audit of all administrators of a server: each change, read from the server's log."""
