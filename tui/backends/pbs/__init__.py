"""A real PBS server: the reader process, PBS's programs and their replies."""
