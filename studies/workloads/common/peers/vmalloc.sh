#!/bin/sh
# vmalloc.sh SOURCE PEER: Vmalloc, as it lies in the source of graphviz, as a shared library of its own.
set -eu
cd "$2"
mkdir work
echo '#define HAVE_SYS_TYPES_H 1' >work/config.h # all that it asks of graphviz's configuration
sources=
for name in best clear close dcheap disc last open pool private region segment set stat; do
    sources="$sources $1/lib/vmalloc/vm$name.c"
done
# shellcheck disable=SC2086 # words
cc -O2 -DNDEBUG -w -fPIC -D_GNU_SOURCE -Iwork "-I$1/lib/vmalloc" -shared -o libvmalloc.so $sources
rm -r work
