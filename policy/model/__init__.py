"""The values that a decision is made from and made of: jobs, vnodes, requests, placements, limits, the ledger.

They are plain and immutable, and import nothing above them."""
