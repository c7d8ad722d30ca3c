"""Which files there are, their rows in a database, and the questions to it."""
