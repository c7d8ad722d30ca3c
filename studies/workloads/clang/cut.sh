#!/bin/sh
# cut.sh FILE LINES: SQLite's amalgamation to the end of the source file in it that is reached so many thousand lines after
# malloc.c. What is before that is mostly declarations, and code for other systems.
awk -v wanted="${2}000" '
    { print }
    /^\/\*+ End of malloc\.c \*+\/$/ { begun = NR }
    begun && NR - begun >= wanted && /^\/\*+ End of .* \*+\/$/ { exit }' "$1" >sqlite3.c
