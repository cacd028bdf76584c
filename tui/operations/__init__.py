"""What an administrator does: each operation is previewed, confirmed, made and read back. The operations themselves are
in ``by_target``, what a user reads and types before one is sent in ``confirmation``."""
