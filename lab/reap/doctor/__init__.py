"""`reap doctor`: what this machine can and cannot do."""
