// A sequence lock whose reader looks at the number again without a fence (Boehm, MSPC 2012): its reads of the data may
// come after that. Mended: an acquire fence before it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int number, one, two;

static void *write_both(void *argument) {
    atomic_store_explicit(&number, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&one, 1, memory_order_relaxed);
    atomic_store_explicit(&two, 1, memory_order_relaxed);
    atomic_store_explicit(&number, 2, memory_order_release);
    return argument;
}

int main(void) {
    pthread_t writer;
    pthread_create(&writer, NULL, write_both, NULL);
    int before = atomic_load_explicit(&number, memory_order_acquire);
    int first = atomic_load_explicit(&one, memory_order_relaxed);
    int second = atomic_load_explicit(&two, memory_order_relaxed);
#ifdef MENDED
    atomic_thread_fence(memory_order_acquire);
#endif
    int after = atomic_load_explicit(&number, memory_order_relaxed);
    if (before == after && before % 2 == 0) assert(first == second);
    pthread_join(writer, NULL);
}
