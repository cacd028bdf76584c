"""When waiting jobs will start, forecast beside the passes and published for all who may read the journal."""
