/* The collections of CPython's garbage collector, as launch/python_hook/sitecustomize.py writes them.
 *
 * SPDX-License-Identifier: MIT
 *
 * The lab creates a zeroed file; every process of the tree takes the first slot whose pid is 0 and updates it
 * after each collection. The hook runs in any CPython from 3.7 on, without reap.native, so it alone repeats
 * the layout, as a format string of `struct`. Native byte order.
 */
#ifndef REAP_COLLECTIONS_H
#define REAP_COLLECTIONS_H

#include <stdint.h>

struct reap_collections_slot {
    int64_t pid;   /* 0: free */
    int64_t count; /* collections */
    int64_t ns;    /* CPU time in them */
    int64_t longest_ns;
};

#endif
