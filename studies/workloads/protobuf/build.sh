#!/bin/sh
# build.sh CARD BUILT: the messages' C++ by protoc, and the program.
set -eu
protoc --proto_path="$1" --cpp_out="$2" orders.proto
c++ -std=c++20 -O2 -DNDEBUG -I"$1/.." -I"$2" -o "$2/protobuf-orders" "$1/protobuf_orders.cpp" "$2/orders.pb.cc" \
    -lprotobuf -pthread
