/* Replays collectives under each algorithm of Open MPI's tuned component: replay PLAN
 *
 * The plan has for each operation: its number, function, bytes, root, budget (ns), number of ranks, their numbers in
 * MPI_COMM_WORLD, number of repetitions, and for each of these the delay of each rank (ns).
 *
 * Each algorithm has a communicator of its own, whose name says the operation and the algorithm's number, so that the
 * trace holds all that is measured. Number 0 is the choice of the library under the user's own settings. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ROUNDS: the algorithms take turns so often, in random order. */
enum { MOST = 32, ROUNDS = 4, EXCHANGES = 50 };
/* Between the agreement on a start and the start: more than a small broadcast takes, ns. */
static const long long SLACK = 200000;
/* A rank that waits lets others run until so shortly before its time, ns. */
static const long long SPIN = 20000;

static int rank;
/* The clock of rank 0 less the own one, ns. */
static long long offset;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec + offset;
}

static void stop(const char *why) {
    if (rank == 0)
        fprintf(stderr, "mpitrace: %s\n", why);
    MPI_Finalize();
    exit(3);
}

/* By the exchange that took the least time; ranks on the node of rank 0 read its clock. */
static void find_offset(void) {
    char own[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
    int length, size;
    MPI_Get_processor_name(own, &length);
    memcpy(first, own, sizeof own);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    int away = strcmp(own, first) != 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int other = 1; other < size; other++) {
        int asks = rank == other && away;
        MPI_Bcast(&asks, 1, MPI_INT, other, MPI_COMM_WORLD);
        long long best = 0, found = 0, there = 0;
        for (int i = 0; asks && i < EXCHANGES; i++) {
            if (rank == other) {
                long long before = now();
                MPI_Send(&before, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD);
                MPI_Recv(&there, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                long long took = now() - before;
                if (i == 0 || took < best) {
                    best = took;
                    found = there - before - took / 2;
                }
            } else if (rank == 0) {
                MPI_Recv(&there, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                there = now();
                MPI_Send(&there, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == other)
            offset += found;
    }
}

/* A control variable of the tuned component, or nothing. */
static int variable(const char *name, MPI_T_cvar_handle *handle, int *enumerated) {
    int variables;
    MPI_T_cvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        char known[256] = "";
        int length = sizeof known, verbosity, bind, scope, count;
        MPI_Datatype type;
        MPI_T_enum values = MPI_T_ENUM_NULL;
        if (MPI_T_cvar_get_info(i, known, &length, &verbosity, &type, &values, NULL, NULL, &bind, &scope) != MPI_SUCCESS
            || strcmp(known, name) != 0)
            continue;
        *enumerated = 0;
        if (values != MPI_T_ENUM_NULL) {
            length = sizeof known;
            MPI_T_enum_get_info(values, enumerated, known, &length);
        }
        return MPI_T_cvar_handle_alloc(i, NULL, handle, &count) == MPI_SUCCESS;
    }
    return 0;
}

/* One call. Sums of doubles or floats, else a bitwise or of bytes. */
static int call(const char *function, char *in, char *out, int bytes, int root, MPI_Comm comm) {
    MPI_Datatype type = bytes % 8 == 0 ? MPI_DOUBLE : bytes % 4 == 0 ? MPI_FLOAT : MPI_BYTE;
    int count = bytes / (bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1);
    MPI_Op op = type == MPI_BYTE ? MPI_BOR : MPI_SUM;
    if (strcmp(function, "allgather") == 0)
        return MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm);
    if (strcmp(function, "allreduce") == 0)
        return MPI_Allreduce(in, out, count, type, op, comm);
    if (strcmp(function, "alltoall") == 0)
        return MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm);
    if (strcmp(function, "barrier") == 0)
        return MPI_Barrier(comm);
    if (strcmp(function, "bcast") == 0)
        return MPI_Bcast(in, bytes, MPI_BYTE, root, comm);
    if (strcmp(function, "reduce") == 0)
        return MPI_Reduce(in, out, count, type, op, root, comm);
    if (strcmp(function, "reduce_scatter_block") == 0)
        return MPI_Reduce_scatter_block(in, out, count, type, op, comm);
    return MPI_ERR_OTHER;
}

struct operation {
    int number, bytes, root, ranks, repetitions;
    long long budget, *delays;
    char function[64];
};

/* Rank 0 of the operation says when the ranks start: beginning with the first repetition's, until its time is over. */
static void repetitions(const struct operation *one, MPI_Comm agree, MPI_Comm comm, char *in, char *out, int round) {
    int own;
    MPI_Comm_rank(agree, &own);
    long long end = now() + one->budget / ROUNDS;
    for (int i = round; i < one->repetitions; i += ROUNDS) {
        MPI_Barrier(agree);
        long long start = now() + SLACK;
        if (start > end && i >= 2 * ROUNDS)
            start = 0;
        MPI_Bcast(&start, 1, MPI_LONG_LONG, 0, agree);
        if (start == 0)
            break;
        start += one->delays[i * one->ranks + own];
        for (long long left; (left = start - now()) > 0;)
            if (left > SPIN)
                sched_yield();
        call(one->function, in, out, one->bytes, one->root, comm);
    }
}

static void replay(const struct operation *one, MPI_Comm all, int keeps_forced) {
    char name[128];
    MPI_T_cvar_handle algorithm, segment;
    int algorithms = 0, values, order[MOST], used = 0, zero = 0, set = 0, size_set = 0;
    MPI_Comm comms[MOST], agree;
    snprintf(name, sizeof name, "coll_tuned_%s_algorithm", one->function);
    if (!variable(name, &algorithm, &algorithms))
        stop("the library has no control variables for its algorithms (coll_tuned_*_algorithm)");
    MPI_T_cvar_read(algorithm, &set);
    if (!keeps_forced)
        MPI_T_cvar_write(algorithm, &zero);
    /* A rule has a segment size of its own; barriers have none. */
    snprintf(name, sizeof name, "coll_tuned_%s_algorithm_segmentsize", one->function);
    int has_segments = variable(name, &segment, &values);
    if (has_segments)
        MPI_T_cvar_read(segment, &size_set);
    MPI_Comm_dup(all, &agree);
    size_t size = (size_t)one->bytes * one->ranks + 8;
    char *in = calloc(size, 1), *out = calloc(size, 1);
    for (int number = 0; number < algorithms && number < MOST; number++) {
        if (number == 1 && has_segments)
            MPI_T_cvar_write(segment, &zero);
        if (number > 0)
            MPI_T_cvar_write(algorithm, &number);
        MPI_Comm comm;
        MPI_Comm_dup(all, &comm);
        snprintf(name, sizeof name, "operation %d algorithm %d", one->number, number);
        MPI_Comm_set_name(comm, name);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        int refused = call(one->function, in, out, one->bytes, one->root, comm) != MPI_SUCCESS, any;
        MPI_Allreduce(&refused, &any, 1, MPI_INT, MPI_MAX, agree);
        if (!any) {
            comms[used] = comm;
            order[used] = used;
            used++;
        }
    }
    unsigned seed = (unsigned)now();
    MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, agree);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = used - 1; i > 0; i--) {
            int other = rand_r(&seed) % (i + 1), kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
        for (int i = 0; i < used; i++)
            repetitions(one, agree, comms[order[i]], in, out, round);
    }
    MPI_T_cvar_write(algorithm, &set);
    if (has_segments)
        MPI_T_cvar_write(segment, &size_set);
    free(in);
    free(out);
}

static int read_operation(FILE *plan, struct operation *one, int *takes_part, int *key) {
    int member;
    if (fscanf(plan, "%d %63s %d %d %lld %d", &one->number, one->function, &one->bytes, &one->root, &one->budget,
               &one->ranks) != 6)
        return 0;
    *takes_part = 0;
    for (int i = 0; i < one->ranks; i++)
        if (fscanf(plan, "%d", &member) == 1 && member == rank) {
            *takes_part = 1;
            *key = i;
        }
    if (fscanf(plan, "%d", &one->repetitions) != 1)
        return 0;
    size_t delays = (size_t)one->repetitions * one->ranks;
    one->delays = malloc(delays * sizeof *one->delays);
    for (size_t i = 0; i < delays; i++)
        if (fscanf(plan, "%lld", &one->delays[i]) != 1)
            return 0;
    return 1;
}

int main(int argc, char **argv) {
    int provided, values, keeps_forced;
    /* Algorithms are forced under dynamic rules only. A user who has not set them gets the library's own choice. */
    const char *rules = getenv("OMPI_MCA_coll_tuned_use_dynamic_rules");
    keeps_forced = rules && (strcmp(rules, "1") == 0 || strcmp(rules, "true") == 0);
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_cvar_handle file;
    char named[4096] = "";
    if (variable("coll_tuned_dynamic_rules_filename", &file, &values))
        MPI_T_cvar_read(file, named);
    if (keeps_forced && named[0])
        stop("a rules file is set already (coll_tuned_dynamic_rules_filename): unset it");
    FILE *plan = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!plan)
        stop("the plan cannot be read on the first rank");
    find_offset();
    struct operation one;
    int takes_part, key = 0;
    while (read_operation(plan, &one, &takes_part, &key)) {
        MPI_Comm all;
        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, key, &all);
        if (takes_part)
            replay(&one, all, keeps_forced);
        free(one.delays);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
