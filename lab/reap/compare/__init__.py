"""`reap compare`: allocators compared on one program."""
