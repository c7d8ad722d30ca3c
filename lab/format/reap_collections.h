/* The collections of CPython's garbage collector, as launch/python_hook/sitecustomize.py writes them.
 *
 * SPDX-License-Identifier: MIT
 *
 * The lab makes a file of zeros; every process of the tree takes the first slot whose pid is 0 and writes it
 * again after each collection. The hook is for any CPython from 3.7 on, which has no reap.native: it has the
 * layout as a format of Python's `struct`, and is the only other place that does. Native byte order.
 */
#ifndef REAP_COLLECTIONS_H
#define REAP_COLLECTIONS_H

#include <stdint.h>

struct reap_collections_slot {
    int64_t pid;   /* 0: nobody has it */
    int64_t count; /* collections */
    int64_t ns;    /* CPU time in them */
    int64_t longest_ns;
};

#endif
