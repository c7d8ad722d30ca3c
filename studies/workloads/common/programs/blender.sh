# shellcheck shell=sh disable=SC2034 # read by others
# blender.sh: read by the build scripts of programs with Blender's allocators, after `source` is set to its source. It
# compiles what is below these, guardedalloc, of which each chunk is a malloc; and says where headers are.
headers="-I$source/source/blender/blenlib -I$source/source/blender/makesdna -I$source/intern/guardedalloc
    -I$source/intern/atomic"
for file in mallocn mallocn_guarded_impl mallocn_lockfree_impl; do
    # shellcheck disable=SC2086 # words
    cc -O2 -DNDEBUG -w $headers -c "$source/intern/guardedalloc/intern/$file.c"
done
# shellcheck disable=SC2086 # words
c++ -O2 -DNDEBUG -w $headers -c "$source/intern/guardedalloc/intern/leak_detector.cc"
