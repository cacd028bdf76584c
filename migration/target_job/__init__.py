"""What a target does with one job: ``phases`` (upload, build, submit, follow, download, stop), ``local_job`` as its
scheduler sees it, and what the phases share.
"""
