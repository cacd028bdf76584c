"""What a user keeps between sessions of the console."""
