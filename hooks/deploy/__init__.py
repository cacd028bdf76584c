"""Installs the hooks in a server and removes them without a trace, by the steps between two states.
``settings_and_partition`` says what is applied, ``cleanup`` is what a removal does to jobs and disk, ``health`` says
whether the hooks work."""
