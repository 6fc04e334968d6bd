/* Child processes of every kind between collective calls: each rank prints how they ended. The children inherit the
 * environment, so a preloaded library is in what they execute too. */
#define _GNU_SOURCE
#include "report.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int sum_of_calls;

static void call(void)
{
    int value = world_rank + 1, sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum_of_calls += sum;
}

static int ended(pid_t child)
{
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    char *words[] = {"sh", "-c", "exit 5", NULL}, line[64] = "";
    int codes[7], n = 0;
    MPI_Init(&argc, &argv);
    world();
    call();

    pid_t child = fork();
    if (child == 0) _exit(3);
    codes[n++] = ended(child);
    call();

    /* One that lives on while its parent goes on, and computes with memory of its own. */
    child = fork();
    if (child == 0) {
        char *memory = malloc(1 << 20);
        memset(memory, 1, 1 << 20);
        usleep(20000);
        _exit(memory[1000] + 3);
    }
    call();
    codes[n++] = ended(child);
    call();

    child = fork();
    if (child == 0) {
        execv("/bin/sh", words);
        _exit(99);
    }
    codes[n++] = ended(child);
    call();

    child = vfork();
    if (child == 0) {
        execv("/bin/sh", words);
        _exit(99);
    }
    codes[n++] = ended(child);
    call();

    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0);
    codes[n++] = ended(child);
    call();

    codes[n++] = WEXITSTATUS(system("exit 6"));
    call();

    FILE *pipe = popen("echo through a pipe", "r");
    CHECK(pipe && fgets(line, sizeof line, pipe));
    codes[n++] = WEXITSTATUS(pclose(pipe));
    line[strcspn(line, "\n")] = 0;
    call();

    report("%d %d %d %d %d %d %d, %s, %d", codes[0], codes[1], codes[2], codes[3], codes[4], codes[5], codes[6], line,
           sum_of_calls);
    MPI_Finalize();
    return 0;
}
