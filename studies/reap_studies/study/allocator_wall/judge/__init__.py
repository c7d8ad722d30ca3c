"""The claims of the essay on the allocator wall, a module for each part of its text. Pure functions."""
