// Mozilla's nsThread (Lu and others, ASPLOS 2008): the new thread uses the pointer to itself, which the thread that has
// started it may not have written yet. Mended: it takes the lock under which that is written.
#include <cstdlib>
#include <mutex>
#include <pthread.h>

struct Thread {
    pthread_t handle;
    int state;
};
static std::mutex lock;
static Thread *current;

static void *run(void *argument) {
#ifdef MENDED
    std::lock_guard<std::mutex> guard(lock);
#endif
    current->state = 1;
    return argument;
}

int main() {
    Thread *thread = static_cast<Thread *>(malloc(sizeof(Thread)));
    thread->state = 0;
    pthread_t handle;
    {
#ifdef MENDED
        std::lock_guard<std::mutex> guard(lock);
#endif
        pthread_create(&handle, nullptr, run, nullptr);
        current = thread;
    }
    pthread_join(handle, nullptr);
    free(thread);
}
