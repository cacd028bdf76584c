"""The audit of all administrators of a server: each change, from the server's log."""
