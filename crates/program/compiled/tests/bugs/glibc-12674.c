// glibc's bug 12674: sem_post adds to the value, and then looks whether somebody waits. But who has taken the value may
// have freed the semaphore by then. Mended: the number of those that wait is in the word that is written.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct semaphore {
    atomic_int value;
    atomic_int waiters;
};
static struct semaphore *shared;
static int woken;

static void *post(void *argument) {
    struct semaphore *semaphore = argument;
#ifdef MENDED
    int value = atomic_fetch_add(&semaphore->value, 1);
    if (value >> 16) woken++;
#else
    atomic_fetch_add(&semaphore->value, 1);
    if (atomic_load(&semaphore->waiters)) woken++;
#endif
    return NULL;
}

int main(void) {
    pthread_t thread;
    shared = calloc(1, sizeof *shared);
    pthread_create(&thread, NULL, post, shared);
    for (int value = 0; !value;) {
        value = atomic_load(&shared->value);
        if (value && !atomic_compare_exchange_strong(&shared->value, &value, value - 1)) value = 0;
    }
    free(shared);
    pthread_join(thread, NULL);
}
