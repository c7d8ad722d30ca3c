"""What a verdict on resident memory says of each part, and what could be done about it."""
