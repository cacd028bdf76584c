"""Quotas planned for a span of time: which of them hold at a moment, and what has to be set or taken back then."""
