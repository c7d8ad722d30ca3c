"""*Reconsidering "Reconsidering Custom Memory Allocation"* (ISMM 2026) on our workloads."""
