"""The commands that only read: status, explain, when, whatif, audit, and the tables."""
