/* Counts what this process asks of the file system below the folder $COUNT_BELOW: preloaded behind the tracer. At the
 * end of the process a line is added to the file $COUNT_INTO, which lies elsewhere. Operations on names that end in
 * ".look" are counted apart: they are made again and again while a rank waits. So are listings of folders that end in
 * "-ranks", where each node has a file. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CREATE, OPEN, MKDIR, LINK, SYMLINK, RENAME, UNLINK, RMDIR, STAT, LIST, LIST_NODES, READLINK, RESIZE, SYNC, LOOK, READ,
    WRITE, FSTAT
};
static const char *const names[] = {"create", "open", "mkdir", "link", "symlink", "rename", "unlink", "rmdir",
                                    "stat", "list", "list-nodes", "readlink", "resize", "sync", "look",
                                    "bytes-read", "bytes-written", "fstat"};
enum { KINDS = sizeof names / sizeof *names };
static unsigned long counts[KINDS];

static void add(int kind, unsigned long number)
{
    __atomic_add_fetch(&counts[kind], number, __ATOMIC_RELAXED);
}

static int below(int folder, const char *path)
{
    const char *base = getenv("COUNT_BELOW");
    char whole[2 * PATH_MAX + 2] = "";
    if (!base || !path) return 0;
    if (*path != '/') {
        char link[64];
        ssize_t length;
        if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        length = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX);
        if (length < 0) return 0;
        whole[length++] = '/';
        whole[length] = 0;
    }
    strncat(whole, path, PATH_MAX);
    return strncmp(whole, base, strlen(base)) == 0 && (whole[strlen(base)] == '/' || !whole[strlen(base)]);
}

/* True if a descriptor is one of a file below the folder, wherever it comes from: it may have been duplicated, or given
 * by another process. */
static int file(int fd)
{
    char link[64], path[PATH_MAX + 1];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX);
    if (length < 0) return 0;
    path[length] = 0;
    return *path == '/' && below(AT_FDCWD, path);
}

static int ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), last = strlen(end);
    return length >= last && strcmp(name + length - last, end) == 0;
}

static void path(int kind, int folder, const char *name)
{
    if (!below(folder, name)) return;
    /* Of an open file by its descriptor. */
    if (kind == STAT && !*name) kind = FSTAT;
    if (ends_in(name, ".look")) kind = LOOK;
    if (kind == LIST && ends_in(name, "-ranks")) kind = LIST_NODES;
    add(kind, 1);
}

/* The next definition of the function, by the type of this one. */
#define NEXT(NAME) \
    static __typeof__(&NAME) next; \
    if (!next) next = (__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME)

static int opened(int fd, int folder, const char *name, int flags)
{
    /* Without asking the file system: a folder is opened to be listed, or to be synchronised. */
    struct stat found;
    int is_folder = fd >= 0 && syscall(SYS_fstat, fd, &found) == 0 && S_ISDIR(found.st_mode);
    path(flags & O_CREAT ? CREATE : is_folder ? LIST : OPEN, folder, name);
    return fd;
}

#define OPENING(NAME) \
    int NAME(const char *name, int flags, ...) \
    { \
        NEXT(NAME); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(next(name, flags, mode), AT_FDCWD, name, flags); \
    }
OPENING(open)
OPENING(open64)

#define OPENING_AT(NAME) \
    int NAME(int folder, const char *name, int flags, ...) \
    { \
        NEXT(NAME); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(next(folder, name, flags, mode), folder, name, flags); \
    }
OPENING_AT(openat)
OPENING_AT(openat64)

/* A function of one path, or of two of which the second is the new name. */
#define OF_PATH(KIND, RESULT, NAME, PARAMETERS, ARGUMENTS, FOLDER, PATH) \
    RESULT NAME PARAMETERS \
    { \
        NEXT(NAME); \
        path(KIND, FOLDER, PATH); \
        return next ARGUMENTS; \
    }
OF_PATH(MKDIR, int, mkdir, (const char *name, mode_t mode), (name, mode), AT_FDCWD, name)
OF_PATH(LINK, int, link, (const char *old, const char *name), (old, name), AT_FDCWD, name)
OF_PATH(LINK, int, linkat, (int from, const char *old, int folder, const char *name, int flags),
        (from, old, folder, name, flags), folder, name)
OF_PATH(SYMLINK, int, symlink, (const char *old, const char *name), (old, name), AT_FDCWD, name)
OF_PATH(RENAME, int, rename, (const char *old, const char *name), (old, name), AT_FDCWD, name)
OF_PATH(UNLINK, int, unlink, (const char *name), (name), AT_FDCWD, name)
OF_PATH(UNLINK, int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags), folder, name)
OF_PATH(RMDIR, int, rmdir, (const char *name), (name), AT_FDCWD, name)
OF_PATH(LIST, DIR *, opendir, (const char *name), (name), AT_FDCWD, name)
OF_PATH(READLINK, ssize_t, readlink, (const char *name, char *to, size_t size), (name, to, size), AT_FDCWD, name)
OF_PATH(STAT, int, stat, (const char *name, struct stat *to), (name, to), AT_FDCWD, name)
OF_PATH(STAT, int, lstat, (const char *name, struct stat *to), (name, to), AT_FDCWD, name)
OF_PATH(STAT, int, stat64, (const char *name, struct stat64 *to), (name, to), AT_FDCWD, name)
OF_PATH(STAT, int, lstat64, (const char *name, struct stat64 *to), (name, to), AT_FDCWD, name)
OF_PATH(STAT, int, statx, (int folder, const char *name, int flags, unsigned mask, struct statx *to),
        (folder, name, flags, mask, to), folder, name)
OF_PATH(STAT, int, access, (const char *name, int mode), (name, mode), AT_FDCWD, name)

/* A function of an open file. */
#define OF_FILE(KIND, NUMBER, RESULT, NAME, PARAMETERS, ARGUMENTS) \
    RESULT NAME PARAMETERS \
    { \
        NEXT(NAME); \
        RESULT result = next ARGUMENTS; \
        int error = errno; \
        if (result >= 0 && file(fd)) add(KIND, NUMBER); \
        errno = error; \
        return result; \
    }
OF_FILE(SYNC, 1, int, fsync, (int fd), (fd))
OF_FILE(SYNC, 1, int, fdatasync, (int fd), (fd))
OF_FILE(RESIZE, 1, int, ftruncate, (int fd, off_t size), (fd, size))
OF_FILE(RESIZE, 1, int, ftruncate64, (int fd, off64_t size), (fd, size))
OF_FILE(RESIZE, 1, int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
OF_FILE(RESIZE, 1, int, posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size))
OF_FILE(READ, result, ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
OF_FILE(READ, result, ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
OF_FILE(READ, result, ssize_t, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
OF_FILE(WRITE, result, ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size))
OF_FILE(WRITE, result, ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
OF_FILE(WRITE, result, ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))

/* When all else is done, by one write, which goes to the end of the file as a whole. */
__attribute__((destructor(101))) static void report(void)
{
    const char *into = getenv("COUNT_INTO");
    char line[1024] = "";
    int length = 0, fd = into ? syscall(SYS_openat, AT_FDCWD, into, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    for (int i = 0; i < KINDS; i++)
        length += sprintf(line + length, "%s %lu%c", names[i], counts[i], i < KINDS - 1 ? ' ' : '\n');
    if (fd >= 0 && syscall(SYS_write, fd, line, length) != length) abort();
    if (fd >= 0) syscall(SYS_close, fd);
}
