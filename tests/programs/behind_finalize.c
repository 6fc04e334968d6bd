/* behind_finalize FOLDER CALLS: what a program finds behind MPI_Finalize: whether so many calls have left memory in use in
 * a file system that is small, and how many descriptors are open. A page of each rank, and
 * those by which clocks were compared, are none. */
#include "report.h"

#include <dirent.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int deleted(void)
{
    DIR *open = opendir("/proc/self/fd");
    struct dirent *entry;
    char link[4096], path[300];
    int found = 0;
    while (open && (entry = readdir(open))) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length <= 0) continue;
        link[length] = 0;
        found += strstr(link, "mpitrace") && strstr(link, "(deleted)");
    }
    closedir(open);
    return found;
}

int main(int argc, char **argv)
{
    int one = 1, sum;
    struct statvfs found;
    if (argc < 3) return 2;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < atoi(argv[2]); i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    unsigned long used = 1 << 30;
    /* Until the other ranks are there too. */
    for (int look = 0; look < 2000 && used > 65536; look++) {
        usleep(10000);
        if (statvfs(argv[1], &found)) return 3;
        used = (found.f_blocks - found.f_bfree) * found.f_frsize;
    }
    printf("%s, %d files\n", used <= 65536 ? "nothing" : "memory is in use", deleted());
    if (used > 65536) fprintf(stderr, "%lu bytes\n", used);
    return 0;
}
