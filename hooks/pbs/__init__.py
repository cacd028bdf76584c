"""PBS's own terms: raw status, job ids, resources, marks and comments as text, and the one pbs_ifl client.

Nothing is decided here.
"""
