#!/bin/sh
# check.sh ROOT CLANG MUSL-GCC WORK: the library over musl, as far as Debian has what it takes: libc++'s headers, and no
# C++ library that is compiled for musl. All headers and the C face compile; libreap-malloc, which needs libc alone,
# serves programs. 77: something is not on this machine.
set -eu
root=$1
clang=$2
musl_gcc=$3
work=$4
library=$root/library
resources=$("$clang" -print-resource-dir)
headers=$resources/../../../include/c++/v1
musl=/usr/include/$(uname -m)-linux-musl
for needed in "$headers/vector" "$musl/stdlib.h"; do
    if ! test -e "$needed"; then
        echo "$needed is not on this machine" >&2
        exit 77
    fi
done
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# Debian's libc++ is configured for glibc; a mutex of musl's has as little to destroy.
compile() {
    "$clang" --target="$(uname -m)-linux-musl" -std=c++20 -nostdinc++ -nostdlibinc -isystem "$headers" \
        -isystem "$resources/include" -isystem "$musl" -D_LIBCPP_HAS_MUSL_LIBC \
        -D_LIBCPP_HAS_TRIVIAL_MUTEX_DESTRUCTION -Wall -Wextra -Werror -I"$library/include" \
        -DREAP_VERSION='"0"' "$@"
}

(cd "$library/include" && find reap -name '*.h' | sort | sed 's/.*/#include "&"/') >headers.cpp
compile -fsyntax-only headers.cpp
for source in "$library"/src/c/*.cpp; do echo "#include \"$source\""; done >face.cpp
compile -fsyntax-only face.cpp

for source in malloc mallctl operators statistics; do echo "#include \"$library/src/interpose/$source.cpp\""; done >malloc.cpp
for mode in REAP_CHECKED=0 REAP_HARDENED=1; do
    compile "-D$mode" -O1 -fPIC -fno-exceptions -fno-rtti -fvisibility=hidden -fno-threadsafe-statics \
        -fno-builtin-malloc -ftls-model=initial-exec -I"$library/src/interpose/reaps" -c malloc.cpp -o malloc.o
    "$musl_gcc" -shared malloc.o -o libreap-malloc.so -nodefaultlibs -lgcc -lc \
        "-Wl,-z,initfirst,-z,nodelete,-z,now,-z,defs,--version-script=$library/src/interpose/exports.map"
    for program in served "$library"/test/bugs/*.c; do
        name=$(basename "$program" .c)
        case $name in
        served) program=$library/test/musl/served.c ;;
        apr_*) continue ;; # there is no APR for musl
        esac
        "$musl_gcc" -Wall -Werror -O1 -fno-builtin "-I$library/include" "$program" -o "$name" ./libreap-malloc.so "-Wl,-rpath,$work"
        echo "$mode $name"
        "./$name"
    done
done
