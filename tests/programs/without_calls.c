/* without_calls NAME[,NAME...] COMMAND...: runs the command where a seccomp filter refuses these system calls, as
 * containers do. No MPI program itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct {
    const char *name;
    int number;
} calls[] = {
    CALL(clock_gettime), CALL(clock_nanosleep), CALL(fallocate), CALL(fstatfs), CALL(fsync), CALL(getcwd),
    CALL(getppid), CALL(getrusage), CALL(linkat), CALL(memfd_create), CALL(perf_event_open),
    CALL(pwrite64), CALL(rt_sigpending), CALL(rt_sigtimedwait), CALL(statx),
};
enum { CALLS = sizeof calls / sizeof *calls };

int main(int argc, char **argv)
{
    struct sock_filter filter[2 * CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    int length = 1;
    if (argc < 3) return 2;
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
        int call = 0;
        while (call < CALLS && strcmp(name, calls[call].name)) call++;
        if (call == CALLS || length + 3 > 2 * CALLS + 2) return 3;
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[call].number, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("without_calls");
        return 126;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
