#!/bin/sh
# build.sh SOURCE CARD BUILT: the program with Blender's mempools.
set -eu
source=$1
cd "$3"
. "$2/../common/programs/blender.sh"
# shellcheck disable=SC2086 # words
cc -O2 -DNDEBUG -w $headers -c "$source/source/blender/blenlib/intern/BLI_mempool.c"
# shellcheck disable=SC2086 # words
c++ -std=c++20 -O2 -DNDEBUG -w $headers "-I$2/.." -o blender-sculpt "$2/blender_sculpt.cpp" ./*.o -pthread
rm ./*.o
