"""What each action does on the screen: one class per group of actions."""
