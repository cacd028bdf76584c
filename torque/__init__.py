"""Torque: reads a Torque server by its own library or programs, and translates what it reads into PBS's words."""
