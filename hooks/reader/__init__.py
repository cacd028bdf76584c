"""The process that reads the server for the console, and its wire format at both ends."""
