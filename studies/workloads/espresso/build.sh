#!/bin/sh
# build.sh SOURCE BUILT: espresso as mimalloc-bench has it, and its input.
set -eu
# The copy prints no solution, upstream does.
mkdir "$2/source"
cp "$1"/bench/espresso/*.[ch] "$2/source"
sed -i "s/print_solution = FALSE;\t.*default -x.*/print_solution = TRUE;/" "$2/source/main.c"
grep -q "^ *print_solution = TRUE;" "$2/source/main.c"
cc -std=gnu89 -O2 -w -o "$2/espresso" "$2"/source/*.c -lm
cp "$1/bench/espresso/largest.espresso" "$2"
