#!/bin/sh
# place.sh INPUTS: TimberWolfSC places the circuit in a folder of its own, since it writes beside what it reads. Prints
# where each cell and each row is.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1"/circuit.blk "$1"/circuit.par "$1"/circuit.scel "$folder"
cd "$folder"
/usr/lib/graywolf/bin/TimberWolfSC -n circuit >log 2>&1 || { tail -n 5 log >&2; exit 1; }
cat circuit.pl1 circuit.pl2
