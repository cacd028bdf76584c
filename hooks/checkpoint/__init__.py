"""How a victim makes room: the method, the request to save, the hold, and the verdict at the end of its run."""
