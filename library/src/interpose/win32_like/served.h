#pragma once

#include "reap/interpose/win32_like.h"

/// The heap behind the functions of this library, libreap-win32-like: a model of the Windows heap.
using Served = reap::interpose::Win32Like;
