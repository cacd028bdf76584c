"""Torque's attributes as those of PBS Professional, one file for each kind of object."""
