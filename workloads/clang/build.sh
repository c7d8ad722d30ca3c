#!/bin/sh
# build.sh SOURCE BUILT: SQLite's sources as one file.
set -eu
mkdir "$2/work"
cd "$2/work"
"$1/configure" --quiet --disable-tcl --disable-readline >log 2>&1 || { tail -n 5 log >&2; exit 1; }
make -s sqlite3.c >>log 2>&1 || { tail -n 5 log >&2; exit 1; }
mv sqlite3.c ..
cd ..
rm -r work
