"""Judges users' requests one by one: submission, alteration, reservation and start."""
