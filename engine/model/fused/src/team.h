// The threads of one forward. Each runs the whole text on its share of items and waits for the others where data crosses.
#pragma once
#include <cstdint>
#include <ctime>
#if defined(_OPENMP)
#include <omp.h>
#endif

enum Class { LINEAR, LM_HEAD, KDA, ATTENTION, ELEMENTWISE, CLASSES };

struct Team {
    int id, size;
    double* timers;  // [CLASSES] seconds, or null
    float* wide;     // this thread's own: the rows of one linear in float32

    int first(int items) const { return (int64_t)items * id / size; }
    int last(int items) const { return (int64_t)items * (id + 1) / size; }
    void wait() const {
        if (size > 1) {
#if defined(_OPENMP)
#pragma omp barrier
#endif
        }
    }
    double now() const {
        if (!timers) return 0.0;
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec + 1e-9 * t.tv_nsec;
    }
    // Waits, and books the time since `start` under `what`; returns the time now.
    double lap(double start, Class what) const {
        wait();
        double end = now();
        if (timers && id == 0) timers[what] += end - start;
        return end;
    }
};
