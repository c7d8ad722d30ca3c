#!/bin/sh
# cut.sh FILE LINES: SQLite's amalgamation to the end of the source file in it that is reached so many thousand lines after
# its declarations.
awk -v wanted="${2}000" '
    { print }
    /^\/\*+ End of sqliteInt\.h \*+\/$/ { declared = NR }
    declared && NR - declared >= wanted && /^\/\*+ End of .* \*+\/$/ { exit }' "$1" >sqlite3.c
