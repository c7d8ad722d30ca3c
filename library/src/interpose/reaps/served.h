#pragma once

#include "reap/interpose/heap.h"

/// The heap behind the functions of this library, libreap-malloc: reaps.
using Served = reap::interpose::Heap;
