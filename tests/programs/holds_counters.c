/* holds_counters: counts instructions on every processor by so many events at once (its argument), for all processes, so
 * that the counters of the processor are shared with others in turns. Says `ready`, and ends when it is killed or after
 * ten minutes. Needs the right to count all processes. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int events = argc > 1 ? atoi(argv[1]) : 1;
    for (long processor = 0; processor < sysconf(_SC_NPROCESSORS_ONLN); processor++) {
        for (int event = 0; event < events; event++) {
            struct perf_event_attr attributes;
            memset(&attributes, 0, sizeof attributes);
            attributes.size = sizeof attributes;
            attributes.type = PERF_TYPE_HARDWARE;
            attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
            attributes.exclude_kernel = 1;
            if (syscall(SYS_perf_event_open, &attributes, -1, processor, -1, 0) < 0) {
                perror("perf_event_open");
                return 1;
            }
        }
    }
    puts("ready");
    fflush(stdout);
    sleep(600);
    return 0;
}
