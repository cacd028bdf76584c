"""What opens above a view: the dialog about a deed, the menu of what can be done, and the help."""
