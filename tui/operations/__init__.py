"""What an administrator does: each operation previewed, confirmed, made and read back."""
