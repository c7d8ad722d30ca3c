"""Section 4.3 and Figure 6 of OOPSLA 2002: regions, and allocators with their semantics."""
