"""Local schedulers behind one interface, a file for each kind."""
