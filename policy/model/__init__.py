"""The values that a decision is made from and made of: jobs, vnodes, requests, allocations, limits, the ledger.

They are plain and immutable, and import nothing from the packages above them.
"""
