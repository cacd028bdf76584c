"""Which jobs may start at all, and in which order: gates, soft quotas (P1), priority classes (P2), users' own
priorities.
"""
