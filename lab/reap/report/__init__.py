"""The report of an answer on a terminal and as one page, put together from what the capabilities found."""
