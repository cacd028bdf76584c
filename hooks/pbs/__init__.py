"""PBS's own terms: the raw status, the server's objects and resources, and the one pbs_ifl client. What PBS and pbsteer
write on a job is in ``job_attributes``, what PBS leaves in files and prints in ``files_and_output``. Nothing is decided
here."""
