"""PBS's own scheduler beside passes: when it is switched off, what it still has to do, and which of its configuration
passes cannot follow."""
