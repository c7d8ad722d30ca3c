"""`reap fragment`: one run of a program on a fragmented heap, and a map of that heap."""
