"""The essay on the allocator wall: its claims, each put to this machine. What judges them is in `judge`."""
