"""The hooks put into a server and taken out again without a trace; whether they work."""
