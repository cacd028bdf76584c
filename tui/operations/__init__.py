"""What an administrator does: each operation is previewed, confirmed, made and read back."""
