# shellcheck shell=sh disable=SC2034 # read by others
# areas.sh: read by the build scripts of programs whose regions others replace. It names each peer of their cards, and
# the type of peers.h that is its area.
areas="reap=Reap apr=AprPool talloc=Talloc mimalloc=MimallocHeap jemalloc=JemallocArena vmalloc=Vmalloc
    oopsla-reap=OopslaReap oopsla-simulator=OopslaSimulator pmr-monotonic=PmrMonotonic pmr-pool=PmrPool"

# compile_area SOURCE OBJECT NAME=TYPE LIBRARY: the file that has that area in place of the program's regions.
compile_area() {
    c++ -std=c++20 -O2 -DNDEBUG "-I$4" "-I$(dirname "$1")/.." "-DAREA=peers::${3#*=}" -c -o "$2" "$1"
}
