"""`reap run`: everything combined into one answer for one program."""
