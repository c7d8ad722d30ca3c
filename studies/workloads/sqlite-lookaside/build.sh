#!/bin/sh
# build.sh SOURCE BUILT: SQLite's shell with lookaside, which Debian's own build leaves out.
set -eu
mkdir "$2/work"
cd "$2/work"
"$1/configure" --quiet --disable-tcl --disable-readline >log 2>&1 || { tail -n 5 log >&2; exit 1; }
make -s sqlite3.c shell.c >>log 2>&1 || { tail -n 5 log >&2; exit 1; }
cc -O2 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o ../sqlite3 shell.c sqlite3.c -lm
cd ..
rm -r work
