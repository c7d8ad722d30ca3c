#!/bin/sh
# oopsla_reap.sh SOURCE PEER: the reaps of the authors of OOPSLA 2002, as they lie in the repository of Heap-Layers, as a
# shared library of their own. They no longer compile; changed in copies of their files, and not in what is called here:
# - clearoptimizeheap.h says no alignment, which newer layers ask for;
# - dlheap.h calls freeAll(), which no layer has. It belongs to the half of a reap that serves individual frees, which
#   crashes on 64 bits: none is made here.
# -fno-access-control: a layer uses another's private type, which compilers of 2002 let pass.
set -eu
cd "$2"
cp -R "$1" work
sed -i 's/^class ClearOptimizeHeap: public Heap1, Heap2 {/&\npublic: enum { Alignment = 16 }; private:/' \
    work/legacy/reap/clearoptimizeheap.h
grep -q 'Alignment = 16' work/legacy/reap/clearoptimizeheap.h
sed -i 's/super::freeAll()/__builtin_trap()/' work/heaps/general/dlheap.h
grep -q '__builtin_trap' work/heaps/general/dlheap.h
folders=$(find work/heaps work/threads -type d | sed 's/^/-I/')
# shellcheck disable=SC2086 # words
c++ -std=c++17 -O2 -DNDEBUG -w -fpermissive -fno-access-control -fPIC -shared -o liboopsla-reap.so \
    -Iwork/legacy/reap -Iwork $folders work/legacy/reap/regionheap.cpp
rm -rf work
