// A counted pointer whose count is lowered by a relaxed step (the example of Boost.Atomic's documentation): the thread
// that deletes the object does not know what others have done to it. Mended: release, and an acquire fence.
#include <atomic>
#include <thread>

struct Object {
    std::atomic<int> users{2};
    int value = 0;
};

static void use(Object *object, int *seen) {
    *seen = object->value;
#ifdef MENDED
    if (object->users.fetch_sub(1, std::memory_order_release) == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);
#else
    if (object->users.fetch_sub(1, std::memory_order_relaxed) == 1) {
#endif
        delete object;
    }
}

int main() {
    Object *object = new Object;
    int seen[2];
    std::thread one(use, object, &seen[0]), two(use, object, &seen[1]);
    one.join();
    two.join();
}
