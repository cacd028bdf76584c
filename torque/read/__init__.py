"""Reading a Torque server: by its library in a process of its own, or by its programs where the library is missing."""
