"""pbsteer as other environments see it: one package, whose program starts are in :mod:`pbsteer.launch`."""
