#!/bin/sh
# untimed.sh COMMAND: runs it and prints what no run varies: neither its time nor its variant.
said=$("$@") || exit
case $said in
*Done.*) echo done ;;
*) exit 1 ;;
esac
