"""The plan and the passes: what the next pass does, what a past one did, moved promises, what a change would do."""
