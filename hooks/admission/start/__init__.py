"""Judges one start at the moment of the start (the runjob event)."""
