#!/bin/sh
# build.sh SOURCE CARD BUILT: the program with Blender's linear allocator, as it is and with its threshold at 0.
set -eu
source=$1
cd "$3"
. "$2/../common/programs/blender.sh"
mkdir naive
sed 's/large_buffer_threshold = 4096/large_buffer_threshold = 0/' "$source/source/blender/blenlib/BLI_linear_allocator.hh" \
    >naive/BLI_linear_allocator.hh
grep -q 'threshold = 0;' naive/BLI_linear_allocator.hh
for variant in custom naive; do
    # shellcheck disable=SC2086 # words
    c++ -std=c++20 -O2 -DNDEBUG -w "-I$variant" $headers "-I$2/.." -o "blender-nodes-$variant" "$2/blender_nodes.cpp" ./*.o \
        -pthread
done
rm -r naive ./*.o
