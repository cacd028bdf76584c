"""The process that reads the server for the console, and both ends of its wire format."""
