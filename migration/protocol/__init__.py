"""The messages between two clusters: what they say, and how they are written and bounded."""
