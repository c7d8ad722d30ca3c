#!/bin/sh
# build.sh SOURCE BUILT: gawk as Debian's source has it, and with MEMDEBUG, by which upstream switches the
# freelists of its own blocks off.
set -eu
for variant in custom naive; do
    mkdir "$2/$variant.work"
    cd "$2/$variant.work"
    define=
    if [ $variant = naive ]; then define=-DMEMDEBUG; fi
    # Outside the source, which other builds use, too.
    "$1/configure" --quiet --disable-mpfr --disable-extensions --disable-nls --without-readline \
        CFLAGS="-O2 $define" >configure.log 2>&1 || { tail -n 5 configure.log >&2; exit 1; }
    make -s -C support >make.log 2>&1 && make -s gawk >>make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; }
    mv gawk "$2/gawk-$variant"
    cd "$2"
    rm -r "$variant.work"
done
