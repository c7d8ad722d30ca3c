#!/bin/sh
# untimed.sh COMMAND: runs it and prints what no run varies: neither its time nor its variant.
said=$("$@") || exit
case $said in
*Done.*) echo done ;;
*)
    echo "$1 printed no line that begins with Done." >&2
    exit 1
    ;;
esac
