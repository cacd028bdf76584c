"""What a removal cleans up outside the hooks themselves: marks, holds and priorities of jobs, and PBS's copies on
disk."""
