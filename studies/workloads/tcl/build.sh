#!/bin/sh
# build.sh SOURCE BUILT: Tcl's shell without threads, whose objects are in a freelist of their own, and with PURIFY, by
# which upstream makes each a malloc and a free.
set -eu
mkdir "$2/work"
cd "$2/work"
"$1/unix/configure" --quiet --disable-shared --disable-threads >log 2>&1 || { tail -n 5 log >&2; exit 1; }
for variant in custom naive; do
    define=
    if [ $variant = naive ]; then define=-DPURIFY; fi
    make -s tclsh CFLAGS="-O2 $define" >>log 2>&1 || { tail -n 5 log >&2; exit 1; }
    mv tclsh "$2/tclsh-$variant"
    rm tcl*.o libtcl8.6.a # what is left knows nothing of PURIFY
done
mkdir "$2/library"
cp "$1"/library/*.tcl "$2/library"
cd "$2"
rm -r work
