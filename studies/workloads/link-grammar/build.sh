#!/bin/sh
# build.sh SOURCE BUILT: Link Grammar's parser with its pools, and with POOL_ALLOCATOR=0, by which upstream makes each
# element a malloc that is freed with its pool. Spell checkers, SQL and the SAT solver are left out.
set -eu
mkdir "$2/work"
cd "$2/work"
cp -R "$1/link-grammar" "$1/link-parser" .
sed -e 's/@DEFAULT_VISIBILITY@//; s/@LINK_MAJOR_VERSION@/5/; s/@LINK_MINOR_VERSION@/12/' \
    -e 's/@LINK_MICRO_VERSION@/9/; s/@[A-Za-z_]*@//g' link-grammar/link-features.h.in >link-grammar/link-features.h
flex -o link-grammar/post-process/pp_lexer.c link-grammar/post-process/pp_lexer.l
touch config.h
have="-DHAVE_ALIGNED_ALLOC -DHAVE_ALLOCA_H -DHAVE_ASPRINTF -DHAVE_FORK -DHAVE_LOCALE_T -DHAVE_LOCALE_T_IN_LOCALE_H
    -DHAVE_PCRE2_H -DHAVE_POSIX_MEMALIGN -DHAVE_SIGACTION -DHAVE_STRNDUP -DHAVE_STRTOK_R -DHAVE_TYPEOF"
sources=$(find link-grammar -name '*.c' | LC_ALL=C sort |
    grep -v -e aspell-memleak -e atomese -e malloc-dbg -e minisat -e pc-display -e sat-solver)
parser="link-parser/link-parser.c link-parser/command-line.c link-parser/parser-utilities.c link-parser/lg_readline.c
    link-parser/lg_xdg.c"
for variant in custom naive; do
    pools=1
    if [ $variant = naive ]; then pools=0; fi
    # shellcheck disable=SC2086 # words
    cc -std=gnu11 -O2 -w -D_GNU_SOURCE -DPCRE2_CODE_UNIT_WIDTH=8 $have -DDICTIONARY_DIR='"."' -DPOOL_ALLOCATOR=$pools \
        -I. -Ilink-grammar -Ilink-grammar/post-process -o "$2/link-parser-$variant" $sources $parser -lpcre2-8 -lm
done
cd "$2"
rm -r work
cp -R "$1/data/en" en
