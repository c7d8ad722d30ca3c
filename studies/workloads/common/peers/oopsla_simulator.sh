#!/bin/sh
# oopsla_simulator.sh SOURCE PEER: the region simulator of the authors of OOPSLA 2002, as it lies in the repository of
# Heap-Layers, as a shared library of its own: each object from malloc, freed with its region. Changed in copies of its files:
# names of headers have backslashes, and the layers a namespace today; a heap of Windows and the obstacks are left out.
set -eu
cd "$2"
cp -R "$1" work
reap=work/legacy/reap
sed -i 's/\r$//; s,"\.\.\\heaplayers\\,",' $reap/regionsimulator.h $reap/regionsimulator.cpp
sed -i 's/#include "dynarray.h"/&\nusing namespace HL;/' $reap/regionsimulator.h
sed -i 's/<mallocHeap>/<MallocHeap>/; /^class WinMallocHeap/,/^};/d; /And obstack functions/,$d' $reap/regionsimulator.cpp
grep -q '"dynarray.h"' $reap/regionsimulator.h
folders=$(find work/heaps work/threads work/utility -type d | sed 's/^/-I/')
# shellcheck disable=SC2086 # words
c++ -std=c++17 -O2 -DNDEBUG -w -fpermissive -fPIC -shared -o liboopsla-simulator.so -include cstring \
    -I$reap -Iwork $folders $reap/regionsimulator.cpp
rm -rf work
