#!/bin/sh
# build.sh PYTHON CARD SOURCE LIBRARY BUILT: bc from Debian's source as a module of httpd, the pools to be preloaded, and what
# of bc's lines now means something else.
set -eu
python=$1
card=$2
source=$3
library=$4
built=$5
mkdir "$built/work"
cd "$built/work"
# Outside the source, which other builds use, too.
"$source/configure" --quiet --without-readline --without-libedit >configure.log 2>&1 ||
    { tail -n 5 configure.log >&2; exit 1; }
# The mathematics of bc -l, which a bc of its own compiles.
make -s -C lib >make.log 2>&1 && make -s -C bc libmath.h >>make.log 2>&1 || { tail -n 5 make.log >&2; exit 1; }

# As Debian's apr-1-config and apxs2 have it.
include="-I/usr/include/apr-1.0 -I/usr/include/apache2"
mkdir pic
for file in bc/bc bc/execute bc/global bc/load bc/main bc/scan bc/storage bc/util bc/warranty lib/number; do
    # Its own warnings are its authors' affair.
    cc -O2 -w -fPIC -D_GNU_SOURCE -DHAVE_CONFIG_H $include -include "$card/bc_in_pool.h" \
        -I. -Ibc -I"$source" -I"$source/bc" -I"$source/h" -c "$source/$file.c" -o "pic/$(basename $file).o"
done
cc -O2 -Wall -Wextra -fPIC -D_GNU_SOURCE $include -c "$card/mod_bc.c" -o pic/mod_bc.o
cc -shared -o "$built/mod_bc.so" pic/*.o
cd "$built"
rm -r work
sh "$card/../common/pools.sh" "$card" "$library" "$built"
"$python" "$card/lines.py" "$source" >lines.json
