"""The hooks that passes switch on and off: that of starts, and the one at a job's end."""
