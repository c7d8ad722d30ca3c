#!/bin/sh
# build.sh CARD BUILT: the program with Nim's own allocator, and with malloc.
set -eu
for variant in custom naive; do
    define=
    if [ $variant = naive ]; then define=-d:useMalloc; fi
    nim c -d:release --mm:arc $define --hints:off --nimcache:"$2/cache" --out:"$2/trees-$variant" "$1/trees.nim" >&2
    rm -r "$2/cache"
done
