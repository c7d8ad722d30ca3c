"""`reap show`: what a recording says, on a terminal and on a page. Reading it belongs to `recording`."""
