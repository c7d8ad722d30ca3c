"""`reap tune`: an allocator's own settings, searched for what suits one program."""
