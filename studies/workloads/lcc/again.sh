#!/bin/sh
# again.sh RCC UNIT TIMES: compiles the unit so many times.
times=0
while [ $times -lt "$3" ]; do
    "$1" -w -target=x86/linux "$2" || exit
    times=$((times + 1))
done
