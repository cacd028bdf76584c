"""The passes over a Torque server: a process outside it, which reads, decides and acts as the hook does in PBS."""
