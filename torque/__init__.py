"""Torque: reads a Torque server by its own library or programs, and says what it has in PBS's words."""
