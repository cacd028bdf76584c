"""``pbsteer hooks``: plans, applies, removes and checks the hooks in the server, and sends a test alert."""
