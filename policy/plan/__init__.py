"""The plan of one pass while it is made, and the plan as a value."""
