#!/bin/sh
# prepare.sh CORPUS INPUTS SCALE: the first SCALE times ten sentences of the corpus, without its remarks and commands.
set -eu
grep -v -e '^%' -e '^!' -e '^-' -e '^ *$' "$1" | sed 's/^\*//' | head -n $(($3 * 10)) >"$2/sentences.txt"
