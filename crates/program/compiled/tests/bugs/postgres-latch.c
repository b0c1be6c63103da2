// PostgreSQL's latches of 2010 (Tom Lane, pgsql-hackers 2011): one side says that there is work and then sets the latch
// if it is not set; the other resets the latch and then looks for work. Without a fence each may miss the other, and the
// work is never done. Mended: a fence on both sides.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int work, is_set = 1;
static int is_seen, is_skipped;

static void barrier(void) {
#ifdef MENDED
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void *waker(void *argument) {
    atomic_store_explicit(&work, 1, memory_order_relaxed);
    barrier();
    if (atomic_load_explicit(&is_set, memory_order_relaxed))
        is_skipped = 1;
    else
        atomic_store_explicit(&is_set, 1, memory_order_relaxed);
    return argument;
}

static void *sleeper(void *argument) {
    atomic_store_explicit(&is_set, 0, memory_order_relaxed);
    barrier();
    is_seen = atomic_load_explicit(&work, memory_order_relaxed);
    return argument;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, waker, NULL);
    pthread_create(&two, NULL, sleeper, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(is_seen || atomic_load_explicit(&is_set, memory_order_relaxed) || !is_skipped);
}
