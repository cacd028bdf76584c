"""The threads behind the screen, and the messages that they post."""
