"""Jobs, waiting, running and suspended: their attributes as the policy's values."""
