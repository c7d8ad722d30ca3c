#!/bin/sh
# reap, reap-drag-cc and reap-drag-c++, as the name by which this is called says; -P: no module of the current folder.
# Variables have names that no environment has: the program that is measured would get their values.
case ${0##*/} in
reap-drag-cc) reap_sh_entry='reap.drag.cc:c' ;;
reap-drag-c++) reap_sh_entry='reap.drag.cc:cxx' ;;
*) reap_sh_entry='reap.cli.main:main' ;;
esac
# As lab/spawn/command: Python ignores SIGPIPE and SIGXFSZ before it can be asked.
while read -r reap_sh_name reap_sh_value; do
    if [ "$reap_sh_name" = SigIgn: ]; then export REAP_STARTED_IGNORING="$$:$reap_sh_value"; fi
done </proc/self/status
exec /usr/bin/python3 -P -c '
import importlib, sys
sys.path.insert(0, "/usr/lib/reap")
module, _, function = sys.argv.pop(1).partition(":")
sys.argv[0] = sys.argv.pop(1)
sys.exit(getattr(importlib.import_module(module), function)())' "$reap_sh_entry" "$0" "$@"
