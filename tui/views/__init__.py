"""The console's views: each turns the world into lines or rows and says which actions its cursor offers."""
