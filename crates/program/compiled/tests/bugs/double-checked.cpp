// Double-checked locking as in the books of the nineties (Meyers and Alexandrescu, 2004): the pointer is not atomic, so
// who sees it need not see the object. Mended: release and acquire.
#include <atomic>
#include <mutex>
#include <thread>

struct Single {
    int value;
};
static std::mutex lock;
#ifdef MENDED
static std::atomic<Single *> single;
#else
static Single *single;
#endif

static void use(int *seen) {
#ifdef MENDED
    Single *found = single.load(std::memory_order_acquire);
    if (!found) {
        std::lock_guard<std::mutex> guard(lock);
        found = single.load(std::memory_order_relaxed);
        if (!found) {
            found = new Single{7};
            single.store(found, std::memory_order_release);
        }
    }
    *seen = found->value;
#else
    if (!single) {
        std::lock_guard<std::mutex> guard(lock);
        if (!single) single = new Single{7};
    }
    *seen = single->value;
#endif
}

int main() {
    int seen[2];
    std::thread one(use, &seen[0]), two(use, &seen[1]);
    one.join();
    two.join();
    delete static_cast<Single *>(single);
}
