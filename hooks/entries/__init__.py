"""One module per hook event, each with a ``handle(pbs)``: returns None, or the sentence to refuse the request with."""
