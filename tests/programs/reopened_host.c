/* reopened_host PLUGIN: opens a plugin that brings an MPI library along, runs it and closes it, so that the library is
 * unmapped; something else takes its place; then the same once more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int once(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    int result = run();
    return dlclose(plugin) ? 4 : result;
}

/* Maps pages without any rights in every gap between two mappings below the program's stack. */
static void fill_gaps(void)
{
    char line[4096];
    unsigned long end = 0, from[4096], to[4096];
    int gaps = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps) && gaps < 4096) {
        unsigned long start, stop;
        if (sscanf(line, "%lx-%lx", &start, &stop) != 2 || strstr(line, "[stack]")) break;
        if (end > 0x7000000000 && start > end && start - end < 1ul << 32) from[gaps] = end, to[gaps++] = start;
        end = stop;
    }
    if (maps) fclose(maps);
    for (int i = 0; i < gaps; i++)
        mmap((void *)from[i], to[i] - from[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    int first = once(argv[1]);
    fill_gaps();
    int second = once(argv[1]);
    printf("first %d, second %d\n", first, second);
    return 0;
}
