"""The commands simulate, compare and tune."""
