"""When waiting jobs will start: the same decision run forward over drawn run times, corrected by its own record."""
