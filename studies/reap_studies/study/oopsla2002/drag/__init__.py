"""Section 7.3, Table 4 and Figure 7 of OOPSLA 2002: drag."""
