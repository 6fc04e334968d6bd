/* A provider of performance variables, preloaded behind the tracer: one of each class, type and binding, that count all
 * the time or want to be started. Each MPI_Allreduce of this rank moves them by the same step; nothing else does, but
 * that "mock_depth" and "mock_level" go up and down. What a tool does wrong (reading what was not started, keeping a
 * handle longer than its communicator) is counted, and said by each rank at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE, LEVEL, SIZE, PERCENTAGE, HIGH, LOW, COUNTER, AGGREGATE, TIMER, GENERIC };
enum { INT, UNSIGNED, LONG, LONGLONG, COUNT, DOUBLE, CHAR };
enum { PROCESS, COMMUNICATOR, DATATYPE };

static const struct variable {
    const char *name;
    int class, type, bind, continuous, elements;
} variables[] = {
    {"mock_calls", COUNTER, LONGLONG, PROCESS, 1, 1},
    {"mock_bytes", AGGREGATE, LONG, PROCESS, 0, 1},
    {"mock_time", TIMER, DOUBLE, PROCESS, 0, 1},
    {"mock_ticks", TIMER, UNSIGNED, PROCESS, 1, 1},
    {"mock_state", STATE, INT, PROCESS, 1, 1},
    {"mock_level", LEVEL, UNSIGNED, PROCESS, 1, 1},
    {"mock_depth", LEVEL, INT, PROCESS, 0, 1},
    {"mock_size", SIZE, COUNT, PROCESS, 1, 1},
    {"mock_share", PERCENTAGE, DOUBLE, PROCESS, 1, 1},
    {"mock_high", HIGH, DOUBLE, PROCESS, 0, 1},
    {"mock_low", LOW, LONGLONG, PROCESS, 1, 1},
    {"mock_wraps", COUNTER, UNSIGNED, PROCESS, 0, 1},
    {"mock_on_comm", COUNTER, LONGLONG, COMMUNICATOR, 0, 1},
    {"mock_on_comm_always", LEVEL, LONG, COMMUNICATOR, 1, 1},
    {"mock_three", COUNTER, UNSIGNED, PROCESS, 0, 3},
    {"mock_hundred", COUNTER, LONGLONG, PROCESS, 1, 100},
    {"mock_two_classes", COUNTER, LONG, PROCESS, 1, 1},
    {"mock_two_classes", TIMER, DOUBLE, PROCESS, 1, 1},
    {"mock_of_type", COUNTER, LONG, DATATYPE, 1, 1},
    {"mock_unreadable", COUNTER, LONG, PROCESS, 1, 1},
    {"mock_unstartable", COUNTER, LONG, PROCESS, 0, 1},
    {"mock_generic", GENERIC, LONG, PROCESS, 1, 1},
    {"mock_text", STATE, CHAR, PROCESS, 1, 1},
    /* As Open MPI declares its software performance counters. */
    {"runtime_spc_OMPI_SPC_ALLREDUCE", SIZE, LONGLONG, PROCESS, 1, 1},
    {"runtime_spc_OMPI_SPC_UNEXPECTED_IN_QUEUE", SIZE, LONGLONG, PROCESS, 0, 1},
    {"mock_gone", COUNTER, LONG, PROCESS, 1, 1},
};
#define VARIABLES ((int)(sizeof variables / sizeof *variables))

/* Calls, of all communicators and of each; those of one that is made anew begin at 0. */
static long calls;
static struct { MPI_Comm comm; long calls; } of_comm[64];
static int communicators;
/* What the tool has done wrong, and handles that it still has on communicators other than MPI_COMM_WORLD. */
static long mistakes, on_others;

struct handle {
    int index, started;
    MPI_Comm comm;
};
static struct handle *handles[1024];

static long *calls_of(MPI_Comm comm)
{
    for (int i = 0; i < communicators; i++)
        if (of_comm[i].comm == comm) return &of_comm[i].calls;
    of_comm[communicators].comm = comm;
    return &of_comm[communicators++].calls;
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    calls++;
    ++*calls_of(comm);
    return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    for (int i = 0; i < 1024; i++)
        if (handles[i] && variables[handles[i]->index].bind == COMMUNICATOR && handles[i]->comm == *comm) mistakes++;
    *calls_of(*comm) = 0;
    return PMPI_Comm_free(comm);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "mock_mpi_t: %ld mistakes, %ld handles left on other communicators\n", mistakes, on_others);
    return PMPI_Finalize();
}

int MPI_T_init_thread(int required, int *provided)
{
    /* Open MPI raises the program's level to a higher one that is asked for here. */
    int level;
    if (PMPI_Query_thread(&level) != MPI_SUCCESS || required != level) mistakes++;
    return PMPI_T_init_thread(required, provided);
}

int MPI_T_pvar_get_num(int *count)
{
    *count = VARIABLES;
    return MPI_SUCCESS;
}

static void text(const char *from, char *to, int *length)
{
    if (length && *length > 0 && to) snprintf(to, *length, "%s", from);
    if (length) *length = (int)strlen(from) + 1;
}

int MPI_T_pvar_get_info(int index, char *name, int *name_len, int *verbosity, int *class, MPI_Datatype *datatype,
                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                        int *atomic)
{
    static const int classes[] = {MPI_T_PVAR_CLASS_STATE, MPI_T_PVAR_CLASS_LEVEL, MPI_T_PVAR_CLASS_SIZE,
                                  MPI_T_PVAR_CLASS_PERCENTAGE, MPI_T_PVAR_CLASS_HIGHWATERMARK,
                                  MPI_T_PVAR_CLASS_LOWWATERMARK,
                                  MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_TIMER,
                                  MPI_T_PVAR_CLASS_GENERIC};
    const MPI_Datatype types[] = {MPI_INT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                  MPI_COUNT, MPI_DOUBLE, MPI_CHAR};
    static const int binds[] = {MPI_T_BIND_NO_OBJECT, MPI_T_BIND_MPI_COMM, MPI_T_BIND_MPI_DATATYPE};
    if (index < 0 || index >= VARIABLES || !strcmp(variables[index].name, "mock_gone")) return MPI_T_ERR_INVALID_INDEX;
    const struct variable *variable = &variables[index];
    text(variable->name, name, name_len);
    text("moves with each MPI_Allreduce", desc, desc_len);
    *verbosity = MPI_T_VERBOSITY_USER_BASIC;
    *class = classes[variable->class];
    *datatype = types[variable->type];
    *enumtype = MPI_T_ENUM_NULL;
    *bind = binds[variable->bind];
    *readonly = index % 2;
    *continuous = variable->continuous;
    *atomic = 0;
    return MPI_SUCCESS;
}

int MPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    *session = (MPI_T_pvar_session)(void *)&calls;
    return MPI_SUCCESS;
}

static int of_this_session(MPI_T_pvar_session session)
{
    if ((void *)session == (void *)&calls) return 1;
    mistakes++;
    return 0;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count)
{
    int place = 0, size;
    while (place < 1024 && handles[place]) place++;
    if (!of_this_session(session) || index < 0 || index >= VARIABLES || place == 1024) return MPI_T_ERR_INVALID_INDEX;
    struct handle *made = calloc(1, sizeof *made);
    made->index = index;
    if (variables[index].bind == COMMUNICATOR) {
        made->comm = *(MPI_Comm *)object;
        /* It must be one that MPI knows. */
        if (PMPI_Comm_size(made->comm, &size) != MPI_SUCCESS) mistakes++;
        on_others += made->comm != MPI_COMM_WORLD;
    }
    handles[place] = made;
    *handle = (MPI_T_pvar_handle)(void *)made;
    *count = variables[index].elements;
    return MPI_SUCCESS;
}

static struct handle *known(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    for (int i = 0; i < 1024 && of_this_session(session); i++)
        if (handles[i] && (void *)handles[i] == (void *)handle) return handles[i];
    mistakes++;
    return NULL;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct handle *freed = known(session, *handle);
    if (!freed) return MPI_T_ERR_INVALID_HANDLE;
    on_others -= variables[freed->index].bind == COMMUNICATOR && freed->comm != MPI_COMM_WORLD;
    for (int i = 0; i < 1024; i++)
        if (handles[i] == freed) handles[i] = NULL;
    free(freed);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    struct handle *started = known(session, handle);
    if (!started) return MPI_T_ERR_INVALID_HANDLE;
    if (variables[started->index].continuous || started->started) {
        mistakes++;
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    }
    if (!strcmp(variables[started->index].name, "mock_unstartable")) return MPI_T_ERR_PVAR_NO_STARTSTOP;
    started->started = 1;
    return MPI_SUCCESS;
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    const struct handle *read = known(session, handle);
    if (!read) return MPI_T_ERR_INVALID_HANDLE;
    const struct variable *variable = &variables[read->index];
    if (!variable->continuous && !read->started) {
        mistakes++;
        return MPI_T_ERR_INVALID_HANDLE;
    }
    if (!strcmp(variable->name, "mock_unreadable")) return MPI_T_ERR_INVALID;
    double *reals = buffer;
    unsigned *words = buffer;
    unsigned long long *longs = buffer;
    switch (variable->class * 8 + variable->type) {
    case STATE * 8 + INT: *(int *)buffer = (int)(calls % 3); break;
    case LEVEL * 8 + UNSIGNED: *words = (unsigned)(100 - calls); break;
    case LEVEL * 8 + INT: *(int *)buffer = calls % 2 ? -1 : 7; break;
    case LEVEL * 8 + LONG: *longs = *calls_of(read->comm); break;
    case SIZE * 8 + COUNT: *(MPI_Count *)buffer = ((MPI_Count)1 << 40) + calls; break;
    case SIZE * 8 + LONGLONG: *longs = 50 + calls; break;
    case PERCENTAGE * 8 + DOUBLE: *reals = calls % 2 ? 0.25 : 1.0; break;
    case HIGH * 8 + DOUBLE: *reals = 10.0 + calls; break;
    case LOW * 8 + LONGLONG: *longs = 1000 - calls; break;
    case COUNTER * 8 + UNSIGNED:
        for (int i = 0; i < variable->elements; i++)
            words[i] = variable->elements == 1 ? 0xfffffffcu + 3 * (unsigned)calls : (unsigned)calls * (i + 1);
        break;
    case AGGREGATE * 8 + LONG: *longs = 1000 * calls; break;
    case TIMER * 8 + DOUBLE: *reals = 3.0 + calls * 0.001953125; break; /* 2^-9 s */
    case TIMER * 8 + UNSIGNED: *words = 11 * (unsigned)calls; break;
    default:
        for (int i = 0; i < variable->elements; i++)
            longs[i] = variable->bind == COMMUNICATOR ? 5 * *calls_of(read->comm) : 2 * calls;
    }
    return MPI_SUCCESS;
}
