// Apache's bug 21287 (mod_mem_cache; Lu and others, ASPLOS 2008): two threads each lower a count and then look at it, so
// both see 0 and both free the object. Mended: they look at what the step itself has read.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int users;
    char *data;
};
static struct object *shared;

static void *release(void *argument) {
    struct object *object = shared;
#ifdef MENDED
    if (atomic_fetch_sub(&object->users, 1) == 1) {
#else
    char *data = object->data;
    atomic_fetch_sub(&object->users, 1);
    if (atomic_load(&object->users) == 0) {
        free(data);
        return argument;
#endif
        free(object->data);
        free(object);
    }
    return argument;
}

int main(void) {
    pthread_t one, two;
    shared = malloc(sizeof *shared);
    atomic_init(&shared->users, 2);
    shared->data = malloc(16);
    pthread_create(&one, NULL, release, NULL);
    pthread_create(&two, NULL, release, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}
