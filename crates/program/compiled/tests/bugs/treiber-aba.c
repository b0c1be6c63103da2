// Treiber's stack of 1986 without a count in its head: a node is popped, freed by nobody but pushed again, and the
// compare-exchange of a slow pop takes it for what it was. Mended: the head has a count.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int head = 1;
static atomic_int next[4] = {0, 2, 3, 0};
static atomic_int owners[4];

#ifdef MENDED
#define COUNT 16
#else
#define COUNT 0
#endif

static int pop(void) {
    int old = atomic_load(&head);
    if (old % 16 == 0) return 0;
    int after = atomic_load(&next[old % 16]);
    if (!atomic_compare_exchange_strong(&head, &old, after + (old / 16 * 16 + COUNT))) return 0;
    assert(atomic_fetch_add(&owners[old % 16], 1) == 0);
    return old % 16;
}

static void push(int node) {
    atomic_fetch_sub(&owners[node], 1);
    int old = atomic_load(&head);
    atomic_store(&next[node], old % 16);
    atomic_compare_exchange_strong(&head, &old, node + (old / 16 * 16 + COUNT));
}

static void *slow(void *argument) {
    if (pop()) pop();
    return argument;
}

static void *quick(void *argument) {
    int one = pop(), two = pop();
    if (one && two) push(one);
    return argument;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, slow, NULL);
    pthread_create(&two, NULL, quick, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}
