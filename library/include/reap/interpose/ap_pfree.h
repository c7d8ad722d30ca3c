#pragma once

/* Frees a single object of an APR pool, which APR itself cannot. Implemented by libreap-apr.so, beside the
 * functions of apr_pools.h.
 *
 * A module or program that must also run with APR's own pools declares it weak itself, and tests whether it
 * is defined. From Berger, Zorn and McKinley (OOPSLA 2002), section 7.5. For C and C++. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct apr_pool_t;

/* Frees an object that this pool itself, not a child of it, allocated since it was last cleared. Null is
 * ignored; for anything else, and for a freed object, the behaviour is undefined. Takes as long as a free of
 * a reap. */
void ap_pfree(struct apr_pool_t *pool, void *object);

#ifdef __cplusplus
}
#endif
