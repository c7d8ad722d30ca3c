#!/bin/sh
# prepare.sh SCALE INPUTS: the input of ISMM 2026 (time.mud of its artefact), with another number of times.
set -eu
cat >"$2/script" <<END
load("lib.mud");
load("noinf.mud");
load("ax64.mud");
repeat($1, fn () load("genx64.mud"));
repeat($1, fn () load("inference.mud"));
END
