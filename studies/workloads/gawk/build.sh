#!/bin/sh
# build.sh SOURCE BUILT: gawk as Debian's source has it, and with MEMDEBUG, by which upstream switches the
# freelists of its own blocks off.
set -eu
mkdir "$2/work"
cd "$2/work"
# Outside the source, which other builds use, too.
"$1/configure" --quiet --disable-mpfr --disable-extensions --disable-nls --without-readline \
    CFLAGS=-O2 >configure.log 2>&1 || { tail -n 5 configure.log >&2; exit 1; }
make -s -C support >make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; } # knows nothing of MEMDEBUG
for variant in custom naive; do
    define=
    if [ $variant = naive ]; then define=-DMEMDEBUG; fi
    make -s gawk CFLAGS="-O2 $define" >>make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; }
    mv gawk "$2/gawk-$variant"
    rm ./*.o
done
cd "$2"
rm -r work
