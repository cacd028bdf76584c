"""The PBS side: translates the server's status into a snapshot, and a plan into requests to the server.

Standard library only: all of it runs under PBS's own Python.
"""
