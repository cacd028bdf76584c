"""A real Torque server: the reader process, Torque's programs and their replies."""
