/* A cleanup that is run or killed is taken off both lists: as a pre-cleanup it would run again. */
#include <apr_general.h>
#include <apr_pools.h>
#include <stdio.h>

static int runs = 0;

static apr_status_t run(void *argument) {
    (void)argument;
    ++runs;
    return APR_SUCCESS;
}

static int runs_of(void (*end)(apr_pool_t *pool)) {
    apr_pool_t *pool = NULL;
    runs = 0;
    apr_pool_create(&pool, NULL);
    apr_pool_cleanup_register(pool, &runs, run, apr_pool_cleanup_null);
    apr_pool_pre_cleanup_register(pool, &runs, run);
    end(pool);
    apr_pool_destroy(pool);
    return runs;
}
static void end_by_run(apr_pool_t *pool) { apr_pool_cleanup_run(pool, &runs, run); }
static void end_by_kill(apr_pool_t *pool) { apr_pool_cleanup_kill(pool, &runs, run); }

int main(void) {
    apr_initialize();
    const int after_run = runs_of(end_by_run);
    const int after_kill = runs_of(end_by_kill);
    apr_terminate();
    printf("run: %d of 1, killed: %d of 0\n", after_run, after_kill);
    return after_run != 1 || after_kill != 0;
}
