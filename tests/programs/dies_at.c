/* Preloaded behind the tracer: of all processes the first that comes to $DIES_AT is killed there, while the trace is
 * written below the folder $DIES_BELOW: "give" and "take" a descriptor of it, "write" to it, "sync" it, "publish" it by a
 * link. The file $DIES_ONCE shows that one has been. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_below(const char *path)
{
    const char *base = getenv("DIES_BELOW");
    return base && strncmp(path, base, strlen(base)) == 0 && path[strlen(base)] == '/';
}

static int is_of_trace(int fd)
{
    char link[64], path[PATH_MAX + 1];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static void come(const char *place)
{
    const char *at = getenv("DIES_AT"), *once = getenv("DIES_ONCE");
    if (!at || !once || strcmp(at, place)) return;
    if (syscall(SYS_openat, AT_FDCWD, once, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
}

/* True if a message has a descriptor of the trace. */
static int has_trace(const struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd;
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return 0;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return is_of_trace(fd);
}

#define NEXT(NAME) \
    static __typeof__(&NAME) next; \
    if (!next) next = (__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME)

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg);
    if (has_trace(message)) come("give");
    return next(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    NEXT(recvmsg);
    ssize_t came = next(fd, message, flags);
    if (came > 0 && has_trace(message)) come("take");
    return came;
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    NEXT(pwrite64);
    if (is_of_trace(fd)) come("write");
    return next(fd, from, size, at);
}

int fsync(int fd)
{
    NEXT(fsync);
    if (is_of_trace(fd)) come("sync");
    return next(fd);
}

int linkat(int from, const char *old, int folder, const char *name, int flags)
{
    NEXT(linkat);
    if (is_below(name)) come("publish");
    return next(from, old, folder, name, flags);
}

int link(const char *old, const char *name)
{
    NEXT(link);
    if (is_below(name)) come("publish");
    return next(old, name);
}
