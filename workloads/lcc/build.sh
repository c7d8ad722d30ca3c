#!/bin/sh
# build.sh SOURCE CARD BUILT: lcc's compiler proper, with its regions, with PURIFY, by which upstream makes each object
# a malloc that is freed with its region, and with emulated.c, for its drag.
#
# Two things in lcc are wrong on 64 bits when they are optimised. Its regions align to 8 bytes, but constants hold
# a long double, which x86-64 aligns to 16 and copies by instructions that fault where it is not: the alignment is
# changed in a copy of the file. And constants of type double are read through a pointer to unsigned, which
# -fno-strict-aliasing makes valid.
set -eu
cd "$3"
cp -R "$1/src" "$1/lburg" .
sed -i 's/^\([[:space:]]*\)double d;/\1long double d;/' src/alloc.c
grep -q 'long double d;' src/alloc.c || { echo "src/alloc.c has no member double d in its union align" >&2; exit 1; }
flags="-std=gnu89 -O2 -w -Wno-psabi -fno-strict-aliasing"
cc $flags -Ilburg -o lburg/lburg lburg/lburg.c lburg/gram.c
for target in alpha dagcheck mips sparc x86 x86linux; do lburg/lburg "src/$target.md" "src/$target.c"; done
cc $flags -Isrc -o rcc-custom src/*.c
cc $flags -DPURIFY -Isrc -o rcc-naive src/*.c
mv src/alloc.c alloc.c # not among what is compiled next
cc $flags -g -Isrc -o rcc-emulated src/*.c "$2/emulated.c"
mv alloc.c src
rm -r lburg # the sources stay: they are what it compiles
