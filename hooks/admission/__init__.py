"""Requests of users judged one by one: submission, alteration, reservation and start."""
