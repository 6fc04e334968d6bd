/* A plugin of Slurm (SPANK): `srun --mpitrace ./app` traces the ranks of the step, `srun --mpitrace=EVENTS ./app` with
 * counters (MPITRACE_EVENTS). Without the option it does nothing.
 *
 *   cc -shared -fPIC -o mpitrace_spank.so mpitrace_spank.c
 *
 * In plugstack.conf, on all nodes and where srun runs:
 *
 *   optional /opt/mpitrace/lib/mpitrace/mpitrace_spank.so library=/opt/mpitrace/lib/mpitrace/libmpitrace.so
 */
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(mpitrace, 1);

/* The longest value of LD_PRELOAD that is extended. */
#define LONGEST 8192

static char library[4096] = "libmpitrace.so";
static int wanted;
static char events[1024];

static int asked(int value, const char *argument, int remote)
{
    (void)value;
    if (argument && strlen(argument) >= sizeof events) {
        if (!remote) slurm_error("--mpitrace: the list of events is too long");
        return -1;
    }
    wanted = 1;
    snprintf(events, sizeof events, "%s", argument ? argument : "");
    return 0;
}

static struct spank_option option = {
    "mpitrace", "EVENTS", "trace the MPI calls of the ranks, with these counters if any are named", 2, 0, asked,
};

/* In srun and in the step on each node. Slurm hands an option that srun was given on to the step. */
int slurm_spank_init(spank_t spank, int count, char **arguments)
{
    static const char key[] = "library=";
    for (int index = 0; index < count; index++) {
        const char *path = arguments[index] + sizeof key - 1;
        if (strncmp(arguments[index], key, sizeof key - 1) || strlen(path) >= sizeof library) {
            slurm_error("mpitrace: plugstack.conf: %s is not library=PATH", arguments[index]);
            return ESPANK_SUCCESS;
        }
        snprintf(library, sizeof library, "%s", path);
    }
    spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_REMOTE) return ESPANK_SUCCESS;
    return spank_option_register(spank, &option);
}

/* In each task, before the program is executed. What fails here leaves the rank untraced. */
int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
    char before[LONGEST] = "", preload[LONGEST + sizeof library + 1];
    (void)count, (void)arguments;
    if (!wanted) return ESPANK_SUCCESS;
    if (spank_getenv(spank, "LD_PRELOAD", before, sizeof before) == ESPANK_NOSPACE) {
        slurm_error("mpitrace: LD_PRELOAD is too long: not traced");
        return ESPANK_SUCCESS;
    }
    if (!strstr(before, library)) {
        snprintf(preload, sizeof preload, "%s%s%s", library, *before ? ":" : "", before);
        spank_setenv(spank, "LD_PRELOAD", preload, 1);
    }
    if (*events) spank_setenv(spank, "MPITRACE_EVENTS", events, 1);
    return ESPANK_SUCCESS;
}
