"""What the console changed, who asked for it, and what became of it."""
