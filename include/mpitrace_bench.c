/* mpitrace_enough of mpitrace.h: ends the loop of a benchmark when its run time is known well enough.
 *
 * Shipped as source, since communicators differ between MPI libraries: compile it with the benchmark (mpicc bench.c
 * mpitrace_bench.c -lm), or make a library of it (make bench-lib MPICC=mpicc). It calls MPI by its PMPI names alone, which most tools
 * do not see, and where mpitrace is preloaded, which does see them, from a function of it below which nothing is recorded.
 *
 * Two rules:
 *
 *   mpiblib   that of Lastovetsky, Rychkov and O'Flynn (2008), section 3: Student's interval of the mean, looked at after each
 *             repetition from the minimum on. All repetitions count.
 *   robust    the interval of the median of the repetitions behind the first and the warm-up, for values that may depend on each
 *             other. It is looked at after `min` repetitions, and each time when there are a quarter more: an interval that is narrow
 *             by chance would end a measurement too soon (Chow and Robbins 1965), so there are few occasions, and it must have been
 *             as narrow after four fifths of them.
 */
#include <mpi.h>

#include "mpitrace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum method { OFF, ROBUST, MPIBLIB };

/* As doubles, so that one broadcast gives all ranks those of rank 0. */
struct rule {
    double method, minimum, maximum, error, confidence;
};

#define RULE_DOUBLES 5
/* No measurement is longer. */
#define MOST 16777216.0
/* The ratio of the repetitions of a look to those of the look before it. */
#define FURTHER 1.25

/* A measurement, kept with its communicator. */
struct measurement {
    struct rule rule;
    int rank;
    int is_over;          /* the next run time is the first of another measurement */
    size_t length, joint; /* repetitions of this rank, and of all ranks together */
    size_t next;          /* repetitions at the next look */
    double *own;          /* run times since the last look */
    double *all;          /* on rank 0: the longest of all ranks in each repetition */
    double *work;         /* on rank 0: four times as many numbers */
    double count, mean, squares; /* on rank 0, of the rule mpiblib: finite ones, their mean, squares of the distances from it */
    struct mpitrace_measured found;
};

/* ---- Distributions ---- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d), c = 1 + even / c, product *= c * d;
        d = 1 / (1 + odd * d), c = 1 + odd / c, product *= c * d;
        if (fabs(c * d - 1) < 1e-15) break;
    }
    return product;
}

/* The probability that the absolute value of Student's t is above `t`: I_x(freedom / 2, 1 / 2), x = freedom / (freedom + t^2). */
static double student_outside(double t, double freedom)
{
    double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    if (x >= 1) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The value that the absolute value of Student's t is below with this probability. By Newton's method, which comes from below, since
 * the probability to be above falls ever more slowly. */
static double student(double confidence, double freedom)
{
    double density = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * 3.14159265358979323846), t = 0;
    for (int step = 0; step < 1000; step++) {
        double at = density * exp(-(freedom + 1) / 2 * log1p(t * t / freedom));
        double further = (student_outside(t, freedom) - (1 - confidence)) / (2 * at);
        t += further;
        if (!(further > 1e-12 * t)) break;
    }
    return t;
}

/* ---- The rule `robust` ---- */

/* Levels that differ by no more than this share are one. */
#define SMALLEST_CHANGE 0.02
/* Two stretches are of different levels if their ranks are so many standard deviations apart. */
#define APART 4.0
/* So many repetitions at least are behind a change, and in an interval. */
#define FEWEST 12

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double middle(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* How many times the variance of the mean of these values (ranks, or 0 and 1: their sum is exact) is that of independent ones, and no
 * less than 1: by the means of blocks, and by the correlation of neighbours, as if they were of a process of the first order; whichever
 * is more. `blocks`: how many. */
static double dependence(const double *values, size_t count, size_t *blocks)
{
    size_t length = (size_t)sqrt((double)count);
    double mean = 0, variance = 0, neighbours = 0, of_blocks = 0;
    *blocks = count / length;
    for (size_t i = 0; i < count; i++) mean += values[i];
    mean /= count;
    for (size_t i = 0; i < count; i++) {
        variance += (values[i] - mean) * (values[i] - mean) / count;
        if (i > 0) neighbours += (values[i] - mean) * (values[i - 1] - mean) / count;
    }
    if (variance <= 0) return 1;
    for (size_t block = 0; block < *blocks; block++) {
        double sum = 0;
        for (size_t i = 0; i < length; i++) sum += values[block * length + i] - mean;
        of_blocks += sum * sum / length / (*blocks - 1);
    }
    double phi = neighbours / variance + 1 / (double)count;
    phi = phi < 0 ? 0 : phi > 0.99 ? 0.99 : phi;
    double ratio = of_blocks / variance, first_order = (1 + phi) / (1 - phi);
    ratio = ratio > first_order ? ratio : first_order;
    return ratio > 1 ? ratio : 1;
}

struct ranked {
    double value;
    size_t place;
};

static int by_value(const void *one, const void *other)
{
    return ascending(&((const struct ranked *)one)->value, &((const struct ranked *)other)->value);
}

/* Replaces values by their ranks, of equal ones the mean, minus the mean of all. `room`: for as many pairs. */
static void rank_values(double *values, size_t count, struct ranked *room)
{
    for (size_t i = 0; i < count; i++) room[i] = (struct ranked){values[i], i};
    qsort(room, count, sizeof *room, by_value);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && room[to].value == room[from].value; to++) {}
        for (size_t i = from; i < to; i++) values[room[i].place] = (double)(from + to - 1) / 2 - (double)(count - 1) / 2;
    }
}

/* The place at which the level changes most surely (0: nowhere), and by how much: the level before over the one behind. By the ranks
 * of the values: the place where the difference of the mean ranks of both sides is largest in standard deviations, which are those of
 * what is left when each side's mean is taken off. */
static size_t change(const double *values, size_t count, double *ratio, double *one, double *other)
{
    if (count < 2 * FEWEST) return 0;
    double before = 0, largest = 0, sum_of_best = 0;
    size_t best = 0, blocks;
    memcpy(one, values, count * sizeof *one);
    rank_values(one, count, (struct ranked *)other);
    for (size_t k = 1; k + FEWEST <= count; k++) {
        before += one[k - 1];
        double square = before * before / k * count / (count - k);
        if (square > largest) largest = square, best = k, sum_of_best = before;
    }
    if (best == 0) return 0;
    double variance = 0;
    for (size_t i = 0; i < count; i++) {
        one[i] -= i < best ? sum_of_best / best : -sum_of_best / (count - best);
        variance += one[i] * one[i] / (count - 2);
    }
    /* All of the values before are above all behind, and equal each other. */
    if (variance > 0 && largest < APART * APART * variance * dependence(one, count, &blocks)) return 0;
    memcpy(one, values, count * sizeof *one);
    qsort(one, best, sizeof *one, ascending);
    qsort(one + best, count - best, sizeof *one, ascending);
    *ratio = middle(one, best) / middle(one + best, count - best);
    return fabs(*ratio - 1) > SMALLEST_CHANGE ? best : 0;
}

/* The step in which ascending values come where ten or more share each on average (no interval says more than that); else 0. */
static double tick(const double *sorted, size_t count)
{
    size_t distinct = 1;
    double least = HUGE_VAL;
    for (size_t i = 1; i < count; i++)
        if (sorted[i] > sorted[i - 1]) {
            distinct++;
            if (sorted[i] - sorted[i - 1] < least) least = sorted[i] - sorted[i - 1];
        }
    return distinct * 10 > count || distinct < 2 ? 0 : least;
}

/* The interval of the median, Woodruff's (1952): that of the share of values that are not above it, by as many independent values as
 * have a mean of the same variance, turned into values. False where there are too few. */
static int median_interval(const double *values, size_t count, double confidence, struct mpitrace_measured *found, double *one,
                           double *other)
{
    if (count < FEWEST) return 0;
    memcpy(one, values, count * sizeof *one);
    qsort(one, count, sizeof *one, ascending);
    double median = middle(one, count);
    for (size_t i = 0; i < count; i++) other[i] = values[i] <= median;
    size_t blocks;
    double ratio = dependence(other, count, &blocks);
    double half = student(confidence, (double)(blocks - 1)) / 2 * sqrt(ratio / count);
    double below = floor((0.5 - half) * count), above = ceil((0.5 + half) * count) + 1;
    found->value = median;
    if (below < 1 || above > count) return 0;
    found->lower = one[(size_t)below - 1];
    found->upper = one[(size_t)above - 1];
    double width = found->upper - found->lower, step = tick(one, count);
    found->error = median > 0 ? (width > step ? width : step) / 2 / median : HUGE_VAL;
    return 1;
}

/* What is known after these repetitions. False: they have not come to one level, or are too few. `work`: four numbers for each. */
static int robust(const double *all, size_t count, double confidence, struct mpitrace_measured *found, double *work)
{
    double *finite = work, *one = work + count, *other = work + 2 * count, ratio;
    size_t kept = 0, start = 0;
    memset(found, 0, sizeof *found);
    found->error = HUGE_VAL;
    found->repetitions = (long)count;
    /* The first repetition is no other's equal. */
    for (size_t i = 1; i < count; i++)
        if (all[i] < HUGE_VAL) finite[kept++] = all[i];
    found->warmup = 1;
    for (size_t at; (at = change(finite + start, kept - start, &ratio, one, other)) > 0; start += at)
        /* Slower later, or not for long what it was before. */
        if (ratio < 1 || start + at > kept - kept / 4) return 0;
    found->warmup += (long)start;
    return median_interval(finite + start, kept - start, confidence, found, one, other);
}

static int robust_is_enough(struct measurement *of)
{
    const struct rule *rule = &of->rule;
    struct mpitrace_measured before;
    return robust(of->all, of->joint, rule->confidence, &of->found, of->work) && of->found.error <= rule->error &&
           robust(of->all, (size_t)(of->joint / FURTHER), rule->confidence, &before, of->work) && before.error <= rule->error;
}

/* ---- The rule `mpiblib` ---- */

/* With the repetitions from this one on. */
static int mpiblib_is_enough(struct measurement *of, size_t from)
{
    for (size_t i = from; i < of->joint; i++) {
        if (of->all[i] == HUGE_VAL) continue;
        double distance = of->all[i] - of->mean;
        of->mean += distance / ++of->count;
        of->squares += distance * (of->all[i] - of->mean);
    }
    struct mpitrace_measured *found = &of->found;
    found->repetitions = (long)of->joint;
    found->value = of->mean;
    found->error = HUGE_VAL;
    if (of->count < 2) return 0;
    double half = student(of->rule.confidence, of->count - 1) * sqrt(of->squares / (of->count - 1) / of->count);
    found->lower = of->mean - half;
    found->upper = of->mean + half;
    found->error = of->mean > 0 ? half / of->mean : HUGE_VAL;
    return found->error <= of->rule.error;
}

/* ---- The variable ---- */

#define EXPECTED "off, or robust or mpiblib with any of ,min=N ,max=N (2 to 16777216), ,error=SHARE and ,confidence=SHARE"

/* MPITRACE_ENOUGH; says on stderr what it cannot be. */
static struct rule of_environment(void)
{
    static const struct rule robust = {ROBUST, 50, 65536, 0.01, 0.95}, mpiblib = {MPIBLIB, 5, 65536, 0.01, 0.95};
    const char *given = getenv("MPITRACE_ENOUGH");
    struct rule rule = robust;
    if (!given || !*given) return rule;
    size_t length = strcspn(given, ",");
    int is_bad = 0;
    if (length == 3 && !strncmp(given, "off", 3)) rule.method = OFF;
    else if (length == 7 && !strncmp(given, "mpiblib", 7)) rule = mpiblib;
    else if (length != 6 || strncmp(given, "robust", 6)) is_bad = 1;
    int has_maximum = 0, has_minimum = 0;
    for (const char *part = given + length; *part && !is_bad; part += strcspn(part, ",")) {
        static const char *const names[] = {"min=", "max=", "error=", "confidence="};
        double *const values[] = {&rule.minimum, &rule.maximum, &rule.error, &rule.confidence};
        int name = 0;
        part++;
        while (name < 4 && strncmp(part, names[name], strlen(names[name]))) name++;
        if (name == 4) {
            is_bad = 1;
            break;
        }
        char *end;
        *values[name] = strtod(part + strlen(names[name]), &end);
        is_bad = end == part + strlen(names[name]) || (*end && *end != ',');
        has_minimum |= name == 0;
        has_maximum |= name == 1;
    }
    /* One that is given goes before the default of the other. */
    if (has_maximum && !has_minimum && rule.minimum > rule.maximum) rule.minimum = rule.maximum;
    if (has_minimum && !has_maximum && rule.maximum < rule.minimum) rule.maximum = rule.minimum;
    is_bad |= !(rule.minimum >= 2 && rule.minimum <= rule.maximum && rule.maximum <= MOST);
    is_bad |= !(rule.error > 0 && rule.error < HUGE_VAL && rule.confidence > 0 && rule.confidence < 1);
    if (!is_bad) return rule;
    fprintf(stderr, "mpitrace_enough: MPITRACE_ENOUGH=%s is not " EXPECTED "; the default is used\n", given);
    return robust;
}

/* ---- Communicators ---- */

static void forget(struct measurement *of)
{
    if (!of) return;
    free(of->own);
    free(of->all);
    free(of->work);
    free(of);
}

static int freed(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    forget(value);
    return MPI_SUCCESS;
}

/* The key of the measurements; MPI_KEYVAL_INVALID: there is none. */
static int key(void)
{
    static int made = MPI_KEYVAL_INVALID;
    int known = __atomic_load_n(&made, __ATOMIC_ACQUIRE), none = MPI_KEYVAL_INVALID, own;
    if (known != MPI_KEYVAL_INVALID) return known;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &own, 0)) return MPI_KEYVAL_INVALID;
    if (__atomic_compare_exchange_n(&made, &none, own, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return own;
    /* Another thread was faster. */
    PMPI_Comm_free_keyval(&own);
    return none;
}

/* The measurement of a communicator, if there is one. */
static struct measurement *known(MPI_Comm comm)
{
    void *value = 0;
    int found = 0, keyval = comm == MPI_COMM_NULL ? MPI_KEYVAL_INVALID : key();
    if (keyval == MPI_KEYVAL_INVALID || PMPI_Comm_get_attr(comm, keyval, &value, &found) || !found) return 0;
    return value;
}

/* A new measurement, by the settings of rank 0; NULL on all ranks: there cannot be one. */
static struct measurement *started(MPI_Comm comm)
{
    int is_inter = 1, is_made = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) || is_inter) return 0;
    struct measurement *of = calloc(1, sizeof *of);
    struct rule rule = {OFF, 0, 0, 0, 0};
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0) rule = of_environment();
    if (PMPI_Bcast(&rule, RULE_DOUBLES, MPI_DOUBLE, 0, comm)) rule.maximum = MOST;
    if (of) {
        size_t most = (size_t)rule.maximum + 1;
        of->rule = rule;
        of->rank = rank;
        of->is_over = 1;
        /* Memory that is not touched is none. */
        of->own = malloc(most * sizeof *of->own);
        if (rank == 0) of->all = malloc(most * sizeof *of->all), of->work = malloc(4 * most * sizeof *of->work);
        is_made = of->own && (rank != 0 || (of->all && of->work)) && key() != MPI_KEYVAL_INVALID;
    }
    int all_made = 0;
    if (PMPI_Allreduce(&is_made, &all_made, 1, MPI_INT, MPI_MIN, comm) || !all_made ||
        PMPI_Comm_set_attr(comm, key(), of)) {
        forget(of);
        return 0;
    }
    return of;
}

static size_t next_look(const struct rule *rule, size_t look)
{
    double next = rule->method == MPIBLIB ? look + 1 : ceil(look * FURTHER);
    return (size_t)(next < rule->maximum ? next : rule->maximum);
}

static int asked(MPI_Comm comm, double run_time)
{
    struct measurement *of = known(comm);
    if (!of) of = started(comm);
    if (!of) return -1;
    if (of->rule.method == OFF) return 0;
    if (of->is_over) {
        of->is_over = 0;
        of->length = of->joint = 0;
        of->count = of->mean = of->squares = 0;
        of->next = (size_t)of->rule.minimum;
        memset(&of->found, 0, sizeof of->found);
    }
    /* A number that is none is left out by all. */
    of->own[of->length++ - of->joint] = run_time >= 0 ? run_time : HUGE_VAL;
    if (of->length < of->next) return 0;
    size_t from = of->joint;
    int count = (int)(of->length - from);
    if (PMPI_Reduce(of->own, of->rank == 0 ? of->all + from : of->own, count, MPI_DOUBLE, MPI_MAX, 0, comm)) return -1;
    of->joint = of->length;
    /* One rank decides, so that the others cannot differ. */
    if (of->rank == 0) {
        int is_enough = of->rule.method == MPIBLIB ? mpiblib_is_enough(of, from) : robust_is_enough(of);
        of->found.decision = is_enough ? 1 : of->joint >= (size_t)of->rule.maximum ? 2 : 0;
    }
    if (PMPI_Bcast(&of->found, sizeof of->found, MPI_BYTE, 0, comm)) return -1;
    of->next = next_look(&of->rule, of->joint);
    of->is_over = of->found.decision != 0;
    return of->found.decision;
}

/* What is asked, and the answer. */
struct question {
    MPI_Comm comm;
    double run_time;
    int answer;
};

static void answer(void *place)
{
    struct question *question = place;
    question->answer = asked(question->comm, question->run_time);
}

/* Of the tracer, where it is preloaded: calls the function with this argument, and records nothing meanwhile. */
extern void mpitrace_unrecorded(void (*work)(void *), void *data) __attribute__((weak));

int mpitrace_enough(MPI_Comm comm, double run_time)
{
    struct question question = {comm, run_time, -1};
    if (mpitrace_unrecorded) mpitrace_unrecorded(answer, &question);
    else answer(&question);
    return question.answer;
}

void mpitrace_enough_start(MPI_Comm comm)
{
    struct measurement *of = known(comm);
    if (of) of->is_over = 1;
}

int mpitrace_enough_found(MPI_Comm comm, struct mpitrace_measured *found)
{
    struct measurement *of = known(comm);
    if (!of || of->found.repetitions == 0) return -1;
    *found = of->found;
    return 0;
}

/* What mpitrace.f90 calls. */
int mpitrace_fortran_enough(int comm, double run_time);
void mpitrace_fortran_enough_start(int comm);
int mpitrace_fortran_enough_found(int comm, struct mpitrace_measured *found);

/* The standard ABI has these conversions alone, and others have them from version 5 on. */
#if MPI_VERSION >= 5
#define OF_FORTRAN PMPI_Comm_fromint
#else
#define OF_FORTRAN PMPI_Comm_f2c
#endif

int mpitrace_fortran_enough(int comm, double run_time) { return mpitrace_enough(OF_FORTRAN(comm), run_time); }
void mpitrace_fortran_enough_start(int comm) { mpitrace_enough_start(OF_FORTRAN(comm)); }
int mpitrace_fortran_enough_found(int comm, struct mpitrace_measured *found)
{
    return mpitrace_enough_found(OF_FORTRAN(comm), found);
}
