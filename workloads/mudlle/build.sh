#!/bin/sh
# build.sh SOURCE CARD BUILT: mudlle for x86-64, with its blocks of 16 KB, with blocks of a single object, and with
# emulated.c, for its drag.
#
# Two lines are changed in copies of their files: MINSIGSTKSZ is no constant in glibc since 2.34 and gets a value, and
# the naive variant's block size is 0, so that each object has a block of its own.
set -eu
mkdir "$3/work"
cd "$3/work"
cp -R "$1/." .
sed -i 's/MINSIGSTKSZ/16384/' runtime/runtime.c
build() {
    make -s ARCH=amd64 USE_XML= USE_GMP= USE_READLINE= "$@" >make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; }
}
build
mv mudlle "$3/mudlle-custom"
sed -i 's/^#define DFLT_BLOCK_SIZE .*/#define DFLT_BLOCK_SIZE ((size_t)0)/' calloc.c
grep -q 'DFLT_BLOCK_SIZE ((size_t)0)' calloc.c || { echo "calloc.c does not define DFLT_BLOCK_SIZE" >&2; exit 1; }
rm calloc.o
build
mv mudlle "$3/mudlle-naive"
cp "$2/emulated.c" calloc.c
rm calloc.o
build
mv mudlle "$3/mudlle-emulated"
cp ./*.mud "$2/self.mud" "$3"
cd "$3"
rm -rf work
