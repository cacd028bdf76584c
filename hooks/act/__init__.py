"""Carries the plan out within the time of a pass: starts, preemptions, comments and priorities."""
