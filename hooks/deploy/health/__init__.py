"""``pbsteer hooks status``: whether the hooks work, and their errors in the server's log."""
