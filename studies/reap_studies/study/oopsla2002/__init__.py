"""*Reconsidering Custom Memory Allocation* (OOPSLA 2002), on our workloads."""
