#!/bin/sh
# build.sh SOURCE BUILT: nginx with its pools, and with NGX_DEBUG_PALLOC, by which upstream makes each object a malloc
# that is freed with its pool. Without what needs a library: regular expressions, compression, encryption.
set -eu
cp -R "$1" "$2/work"
cd "$2/work"
./configure --with-cc-opt=-O2 --without-pcre --without-http_rewrite_module --without-http_gzip_module >log ||
    { tail -n 5 log >&2; exit 1; }
for variant in custom naive; do
    if [ $variant = naive ]; then
        sed -i 's/^CFLAGS =.*/& -DNGX_DEBUG_PALLOC=1/' objs/Makefile
        rm objs/src/core/ngx_palloc.o # the one file that knows of it
    fi
    make -s -f objs/Makefile >log 2>&1 || { tail -n 5 log >&2; exit 1; }
    mv objs/nginx "$2/nginx-$variant"
done
cd "$2"
rm -r work
