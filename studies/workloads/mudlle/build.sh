#!/bin/sh
# build.sh SOURCE CARD BUILT LIBRARY: mudlle for x86-64, with its blocks of 16 KB, and with naive.c, with emulated.c, for
# its drag, and with each allocator of common/peers in place of its blocks.
#
# A line is changed in a copy of its file: MINSIGSTKSZ is no constant in glibc since 2.34 and gets a value.
set -eu
. "$2/../common/peers/areas.sh"
mkdir "$3/work"
cd "$3/work"
cp -R "$1/." .
sed -i 's/MINSIGSTKSZ/16384/' runtime/runtime.c
build() {
    make -s ARCH=amd64 USE_XML= USE_GMP= USE_READLINE= "$@" >make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; }
}
build
mv mudlle "$3/mudlle-custom"
for variant in naive emulated; do
    cp "$2/$variant.c" calloc.c
    rm calloc.o
    build
    mv mudlle "$3/mudlle-$variant"
done
for area in $areas; do
    compile_area "$2/peers.cpp" calloc.o "$area" "$4" # newer than calloc.c, so make leaves it
    build LIBS="-lm -lstdc++ -ldl"
    mv mudlle "$3/mudlle-${area%%=*}"
done
cp ./*.mud "$3"
cd "$3"
rm -rf work
