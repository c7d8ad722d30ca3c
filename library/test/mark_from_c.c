/* The marks as C99 has them. */
#include "reap/mark.h"

void mark_everything_from_c(void);

void mark_everything_from_c(void) {
    char pool[16];
    reap_mark_phase("from C");
    reap_mark_request_begin();
    reap_mark_pool_create(pool, "pool");
    reap_mark_pool_alloc(pool, pool + 8, 8);
    reap_mark_pool_free(pool, pool + 8);
    reap_mark_pool_rewind(pool, pool + 8);
    reap_mark_pool_merge(pool, pool + 4);
    reap_mark_pool_clear(pool);
    reap_mark_pool_destroy(pool);
    reap_mark_request_end();
}
