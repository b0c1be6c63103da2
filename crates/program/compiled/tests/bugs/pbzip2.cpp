// pbzip2 (one of the bugs of Yu and Narayanasamy's study, ISCA 2009): main destroys the queue, with its lock, while a
// consumer still uses it. Mended: main waits for the consumer.
#include <mutex>
#include <thread>

struct Queue {
    std::mutex lock;
    int blocks = 1;
    bool is_done = false;
};

static void consume(Queue *queue) {
    for (int round = 0; round < 2; round++) {
        std::lock_guard<std::mutex> guard(queue->lock);
        if (queue->blocks > 0) queue->blocks--;
        if (queue->blocks == 0) queue->is_done = true;
    }
}

int main() {
    Queue *queue = new Queue;
    std::thread consumer(consume, queue);
#ifdef MENDED
    consumer.join();
    delete queue;
#else
    for (bool is_done = false; !is_done;) {
        std::lock_guard<std::mutex> guard(queue->lock);
        is_done = queue->is_done;
        if (!is_done) break;
    }
    delete queue;
    consumer.join();
#endif
}
