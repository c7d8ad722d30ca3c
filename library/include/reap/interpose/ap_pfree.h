#pragma once

/* What APR's pools lack: to free one object. libreap-apr.so serves it, beside the functions of apr_pools.h.
 *
 * A module or program that is to run with APR's own pools, too, declares it weak itself, and asks whether it
 * is there. From Berger, Zorn and McKinley (OOPSLA 2002), section 7.5. For C and C++. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct apr_pool_t;

/* Frees an object that this pool, no child of it, handed out and was not cleared since. Null is nothing; all
 * else, and an object that is free already, is undefined. In the time that a free of a reap takes. */
void ap_pfree(struct apr_pool_t *pool, void *object);

#ifdef __cplusplus
}
#endif
