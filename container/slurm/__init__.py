"""Slurm on the testbed's hosts: its configuration as text, and its daemons."""
