#!/bin/sh
# pools.sh CARD LIBRARY BUILT: APR's pools to be preloaded, without chunks and of reaps.
set -eu
for variant in naive reap; do
    define=
    if [ $variant = naive ]; then define='-DREAP_POOL_MEMORY="naive_pool.h"'; fi
    # As Debian's apr-1-config --includes has it. It enters programs of C: linked statically but for libc.
    c++ -std=c++20 -O2 -DNDEBUG -D_GNU_SOURCE -fPIC -shared -fno-exceptions -fno-rtti -fvisibility=hidden $define \
        -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -I/usr/include/apr-1.0 -I"$2" -I"$1/../common" \
        -o "$3/libpools-$variant.so" "$2/../src/interpose/apr_pools.cpp" -lapr-1
done
