/* Measurements of noise whose median or mean is known: how often the interval of mpitrace_enough holds it, and how many repetitions it
 * takes. Each line: the noise, how many measurements ended with enough, of how many, in how many of them the interval held the truth,
 * the median number of repetitions, and the median end of the warm-up.
 *
 *   enough_noise median|mean [NOISE]   what the rule makes an interval of; without NOISE all of them */
#include <math.h>
#include <mpi.h>
#include <mpitrace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEASUREMENTS = 400, MOST = 4000 };

static uint64_t state = 88172645463325252;

/* xorshift64* */
static double uniform(void)
{
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return ((state * 2685821657736338717u >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

struct noise {
    const char *name;
    double median, mean;
    double (*next)(int repetition);
};

static double independent(int i)
{
    (void)i;
    return 1000 * (1 + 0.05 * normal());
}

/* exp of a normal value with a standard deviation of 0.2. */
static double skewed(int i)
{
    (void)i;
    return 1000 * exp(0.2 * normal());
}

/* Neighbours are correlated by 0.6. */
static double dependent(int i)
{
    static double x;
    x = i == 0 ? normal() : 0.6 * x + 0.8 * normal();
    return 1000 * (1 + 0.05 * x);
}

/* The first 100 take twice as long. */
static double warms_up(int i) { return independent(i) * (i < 100 ? 2 : 1); }

/* 1 of 20 takes ten times as long. Of the others the median is at a share of 0.5 / 0.95. */
static double outliers(int i)
{
    double x = independent(i);
    return uniform() < 0.05 ? 10 * x : x;
}

/* A clock with steps of 10. */
static double coarse(int i) { return floor(independent(i) / 10 + 0.5) * 10; }

static const struct noise NOISES[] = {
    {"independent", 1000, 1000, independent},
    {"skewed", 1000, 1000 * 1.0202013400267558, skewed},
    {"dependent", 1000, 1000, dependent},
    {"warms-up", 1000, 1000, warms_up},
    {"outliers", 1000 * (1 + 0.05 * 0.06601181), 1450, outliers},
    {"coarse", 1000, 1000, coarse},
};

static int ascending(const void *one, const void *other)
{
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int is_mean = argc > 1 && !strcmp(argv[1], "mean");
    for (unsigned number = 0; number < sizeof NOISES / sizeof *NOISES; number++) {
        const struct noise *noise = &NOISES[number];
        if (argc > 2 && strcmp(argv[2], noise->name)) continue;
        double truth = is_mean ? noise->mean : noise->median;
        long made[MEASUREMENTS], warmup[MEASUREMENTS];
        int enough = 0, held = 0;
        for (int measurement = 0; measurement < MEASUREMENTS; measurement++) {
            struct mpitrace_measured found;
            int i = 0, answer = 0;
            mpitrace_enough_start(MPI_COMM_SELF);
            while (i < MOST && !answer) answer = mpitrace_enough(MPI_COMM_SELF, noise->next(i++));
            if (mpitrace_enough_found(MPI_COMM_SELF, &found)) MPI_Abort(MPI_COMM_WORLD, 1);
            made[measurement] = i;
            warmup[measurement] = found.warmup;
            enough += answer == 1;
            held += answer == 1 && found.lower <= truth && truth <= found.upper;
        }
        qsort(made, MEASUREMENTS, sizeof *made, ascending);
        qsort(warmup, MEASUREMENTS, sizeof *warmup, ascending);
        printf("%s: enough %d of %d, held %d, repetitions %ld, warm-up %ld\n", noise->name, enough, MEASUREMENTS, held,
               made[MEASUREMENTS / 2], warmup[MEASUREMENTS / 2]);
    }
    MPI_Finalize();
    return 0;
}
