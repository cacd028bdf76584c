"""How a victim makes room: checkpoint method, request to save, hold, and the verdict at the end of its run."""
