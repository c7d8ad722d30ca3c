#!/bin/sh
# build.sh CARD SOURCE BUILT: SQLite's sources as one file, and Clang from Debian's static libraries, with and without
# its region allocator.
set -eu
card=$1 source=$2 built=$3
mkdir "$built/work"
cd "$built/work"
"$source/configure" --quiet --disable-tcl --disable-readline >log 2>&1 || { tail -n 5 log >&2; exit 1; }
make -s sqlite3.c >>log 2>&1 || { tail -n 5 log >&2; exit 1; }
mv sqlite3.c ..

libraries=$(llvm-config-19 --libdir)
resources=$(clang-19 -print-resource-dir)
for variant in custom naive; do
    define=
    if [ $variant = naive ]; then define=-DNAIVE; fi
    # shellcheck disable=SC2046,SC2086 # what llvm-config prints is words
    c++ -O2 -std=c++17 -fno-rtti $(llvm-config-19 --cppflags) "-DRESOURCES=\"$resources\"" $define \
        "$card/compiler.cpp" -o "$built/clang-$variant" -Wl,--gc-sections \
        -Wl,--start-group "$libraries"/libclang[A-Z]*.a "$libraries"/libLLVM*.a "$libraries"/libPolly*.a -Wl,--end-group \
        $(llvm-config-19 --link-static --system-libs)
done
cd ..
rm -r work
