"""What the console knows and does, without a screen: the same functions serve the terminal and the command line."""
