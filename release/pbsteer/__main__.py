"""``python -m pbsteer``: the command line."""

from pbsteer.launch import run

run("pbsteer")
