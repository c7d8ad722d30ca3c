#!/bin/sh
# reap, reap-drag-cc and reap-drag-c++, as the name by which this is called says; -P: no module of the current folder.
case ${0##*/} in
reap-drag-cc) entry='reap.drag.cc:c' ;;
reap-drag-c++) entry='reap.drag.cc:cxx' ;;
*) entry='reap.cli.main:main' ;;
esac
exec /usr/bin/python3 -P -c '
import importlib, sys
sys.path.insert(0, "/usr/lib/reap")
module, _, function = sys.argv.pop(1).partition(":")
sys.argv[0] = sys.argv.pop(1)
sys.exit(getattr(importlib.import_module(module), function)())' "$entry" "$0" "$@"
