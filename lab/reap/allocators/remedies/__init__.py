"""What may lower the memory that a program keeps: every remedy once, as data beside the code."""
