"""The commands that change something on the server: previewed, confirmed, made and read back."""
