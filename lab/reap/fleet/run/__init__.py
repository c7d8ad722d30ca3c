"""Files of a fleet, their rows in a database, and the questions to it."""
