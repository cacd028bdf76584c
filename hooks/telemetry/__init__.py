"""The sensors of an execution host, and the line in which their readings are sent."""
