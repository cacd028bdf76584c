"""How a job saves its work: the method it requests, its queue's, or the one of the settings."""
