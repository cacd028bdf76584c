"""What a user keeps from one start of the console to the next."""
