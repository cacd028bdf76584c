"""The views, one file for each; ``bases`` has what they have in common."""
