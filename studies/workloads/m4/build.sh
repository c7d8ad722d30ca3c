#!/bin/sh
# build.sh SOURCE CARD BUILT: GNU m4 with obstacks as the C library has them, and with naive_obstack.h in their place.
set -eu
mkdir "$3/work"
cd "$3/work"
"$1/configure" --quiet --disable-nls CFLAGS=-O2 >log 2>&1 || { tail -n 5 log >&2; exit 1; }
make -s -C lib >>log 2>&1 || { tail -n 5 log >&2; exit 1; } # without obstacks
for variant in custom naive; do
    shim=
    if [ $variant = naive ]; then shim="-include $2/naive_obstack.h"; fi
    make -s -C src m4 CFLAGS="-O2 $shim" >>log 2>&1 || { tail -n 5 log >&2; exit 1; }
    mv src/m4 "$3/m4-$variant"
    rm src/*.o
done
cd "$3"
rm -r work
