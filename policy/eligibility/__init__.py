"""Which jobs may start at all: gates, soft quotas (P1), priority classes (P2) and users' own priorities."""
