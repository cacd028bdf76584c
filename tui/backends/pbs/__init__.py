"""A real PBS server: its reader, its programs, and what they answer."""
