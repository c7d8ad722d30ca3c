#!/bin/sh
# build.sh SOURCE CARD BUILT LIBRARY: lcc's compiler proper, with its regions, with PURIFY, by which upstream makes each
# object a malloc that is freed with its region, with emulated.c, for its drag, and with each allocator of
# common/peers in place of its regions.
#
# Two things in lcc are wrong on 64 bits when they are optimised. Constants hold a long double, which x86-64 aligns to 16
# and copies by instructions that fault where it is not, and lcc's regions align to 8: its header is changed to say so of
# constants. And constants of type double are read through a pointer to unsigned, which -fno-strict-aliasing makes valid.
set -eu
. "$2/../common/peers/areas.sh"
cd "$3"
cp -R "$1/src" "$1/lburg" .
mkdir headers objects
sed 's/^} Value;/} __attribute__((packed, aligned(8))) Value;/' src/c.h >headers/c.h
grep -q 'aligned(8))) Value;' headers/c.h || { echo "src/c.h has no union Value" >&2; exit 1; }
flags="-std=gnu89 -O2 -g -w -Wno-psabi -fno-strict-aliasing"
cc $flags -Ilburg -o lburg/lburg lburg/lburg.c lburg/gram.c
for target in alpha dagcheck mips sparc x86 x86linux; do lburg/lburg "src/$target.md" "src/$target.c"; done
# A copy without c.h, which is found in headers: quoted names are looked for beside the file first.
cp -R src work
rm work/c.h
compile() { (cd objects && cc $flags "$@" -I../headers -I../work -c); } # files are named from the root
compile "$3"/work/*.c
cc -o rcc-custom objects/*.o
mv objects/alloc.o . # the others go with each allocator
for area in $areas; do
    compile_area "$2/peers.cpp" area.o "$area" "$4"
    c++ -o "rcc-${area%%=*}" objects/*.o area.o -ldl
done
compile "$2/emulated.c"
cc -o rcc-emulated objects/*.o
rm objects/emulated.o
compile -DPURIFY "$3/work/alloc.c" "$3/work/list.c"
cc -o rcc-naive objects/*.o
rm -r lburg work headers objects ./*.o # the sources stay: they are what it compiles
