#!/bin/sh
# build.sh SOURCE BUILT: espresso as mimalloc-bench has it, and its input.
set -eu
cc -std=gnu89 -O2 -w -o "$2/espresso" "$1"/bench/espresso/*.c -lm
cp "$1/bench/espresso/largest.espresso" "$2"
