"""What the console's actions do, a class for each group: the method named like the action, on the desk it is given."""
