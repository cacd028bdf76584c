"""A module per hook event, each with a ``handle(pbs)``: it returns None, or the sentence to refuse the request with."""
