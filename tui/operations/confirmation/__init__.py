"""What a user reads and types before an operation is sent: its lines, its effects, the confirmation, the unlock."""
