"""PBS's own terms: the raw status, the server's objects and resources, and the one pbs_ifl client. Nothing is decided
here."""
