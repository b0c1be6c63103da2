/* The names of GenMC's programs, for a program that is explored by seriatim. */
#ifndef SERIATIM_GENMC_H
#define SERIATIM_GENMC_H
#include <pthread.h>
#include <stdbool.h>
#ifdef __cplusplus
extern "C" {
#endif
extern void __VERIFIER_assume(int);
extern void __VERIFIER_error(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern unsigned seriatim_choose(unsigned);
extern void seriatim_assume(int);
#ifdef __cplusplus
}
#endif
#define __VERIFIER_loop_begin()
#define __VERIFIER_spin_start()
#define __VERIFIER_spin_end(cond)
#define __VERIFIER_optional(x)
#define __VERIFIER_local_write(x) x
#define __VERIFIER_final_write(x) x
#define __VERIFIER_final_CAS(x) x
#define __VERIFIER_helped_CAS(x) x
#define __VERIFIER_helping_CAS(x) x
#define __VERIFIER_speculative_read(x) x
#define __VERIFIER_confirming_read(x) x
#define __VERIFIER_confirming_CAS(x) x
static inline pthread_t seriatim_spawn(void *(*function)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, 0, function, argument);
    return thread;
}
#define __VERIFIER_spawn(function, argument) seriatim_spawn(function, argument)
#define __VERIFIER_spawn_symmetric(function, argument, thread) seriatim_spawn(function, argument)
static inline void *seriatim_join(pthread_t thread) {
    void *result;
    pthread_join(thread, &result);
    return result;
}
#define __VERIFIER_join(thread) seriatim_join(thread)
#define __VERIFIER_join_symmetric(thread, other) seriatim_join(thread)
#endif
