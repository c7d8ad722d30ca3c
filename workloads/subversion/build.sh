#!/bin/sh
# build.sh CARD LIBRARY BUILT: the pools that are preloaded.
set -eu
for variant in naive reap; do
    define=
    if [ $variant = naive ]; then define=-DNAIVE; fi
    # As Debian's apr-1-config --includes has it. Linked statically but for libc: it enters a program of C.
    c++ -std=c++20 -O2 -DNDEBUG -fPIC -shared -fno-exceptions -fno-rtti -static-libstdc++ -static-libgcc $define \
        -D_GNU_SOURCE -I/usr/include/apr-1.0 -I"$2" -o "$3/libpools-$variant.so" "$1/pools.cpp" -lapr-1
done
