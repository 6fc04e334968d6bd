/* plugin_host PLUGIN: a program without MPI that opens a plugin for itself alone, as an interpreter does, and runs it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    return run();
}
