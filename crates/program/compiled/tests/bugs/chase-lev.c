// The work-stealing deque of Lê and others (PPoPP 2013), in which Norris and Demsky's CDSChecker (OOPSLA 2013) found that
// the larger array is published by a relaxed write: a thief may read an array that is not filled. Mended: a release.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct array {
    int size;
    atomic_int items[4];
};
static _Atomic(struct array *) shared;
static atomic_int top, bottom;

#ifdef MENDED
#define PUBLISHED memory_order_release
#else
#define PUBLISHED memory_order_relaxed
#endif

static struct array *made(int size) {
    struct array *array = malloc(sizeof *array);
    array->size = size;
    return array;
}

static void push(int item) {
    int last = atomic_load_explicit(&bottom, memory_order_relaxed);
    int first = atomic_load_explicit(&top, memory_order_acquire);
    struct array *array = atomic_load_explicit(&shared, memory_order_relaxed);
    if (last - first > array->size - 1) {
        struct array *larger = made(2 * array->size);
        for (int at = first; at < last; at++) {
            int old = atomic_load_explicit(&array->items[at % array->size], memory_order_relaxed);
            atomic_store_explicit(&larger->items[at % larger->size], old, memory_order_relaxed);
        }
        atomic_store_explicit(&shared, larger, PUBLISHED);
        array = larger;
    }
    atomic_store_explicit(&array->items[last % array->size], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&bottom, last + 1, memory_order_relaxed);
}

static void *steal(void *argument) {
    int first = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    int last = atomic_load_explicit(&bottom, memory_order_acquire);
    if (first < last) {
        struct array *array = atomic_load_explicit(&shared, memory_order_acquire);
        int item = atomic_load_explicit(&array->items[first % array->size], memory_order_relaxed);
        int expected = first;
        if (atomic_compare_exchange_strong_explicit(&top, &expected, first + 1, memory_order_seq_cst,
                                                    memory_order_relaxed))
            assert(item == first + 1);
    }
    return argument;
}

int main(void) {
    pthread_t thief;
    atomic_init(&shared, made(1));
    pthread_create(&thief, NULL, steal, NULL);
    push(1);
    push(2);
    pthread_join(thief, NULL);
}
