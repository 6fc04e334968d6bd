/* quota_at_close FOLDER MOUNTPOINT LIMIT: a file system that shows FOLDER, and on which no file may be longer than LIMIT
 * bytes. As some network file systems do, it says so only when the file is closed (EDQUOT), and has lost then what lies
 * beyond. */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int folder;
static off_t limit;

/* The path within the folder. */
static const char *in(const char *path) { return path[1] ? path + 1 : "."; }
static int result(int returned) { return returned < 0 ? -errno : returned; }

static int fs_getattr(const char *path, struct stat *found, struct fuse_file_info *info)
{
    (void)info;
    return result(fstatat(folder, in(path), found, AT_SYMLINK_NOFOLLOW));
}
static int fs_readlink(const char *path, char *text, size_t size)
{
    ssize_t length = readlinkat(folder, in(path), text, size - 1);
    if (length < 0) return -errno;
    text[length] = 0;
    return 0;
}
static int fs_mkdir(const char *path, mode_t mode) { return result(mkdirat(folder, in(path), mode)); }
static int fs_unlink(const char *path) { return result(unlinkat(folder, in(path), 0)); }
static int fs_rmdir(const char *path) { return result(unlinkat(folder, in(path), AT_REMOVEDIR)); }
static int fs_symlink(const char *text, const char *path) { return result(symlinkat(text, folder, in(path))); }
static int fs_link(const char *old, const char *path) { return result(linkat(folder, in(old), folder, in(path), 0)); }
static int fs_rename(const char *old, const char *path, unsigned flags)
{
    return flags ? -EINVAL : result(renameat(folder, in(old), folder, in(path)));
}
static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)info;
    return result(fchmodat(folder, in(path), mode, 0));
}
static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    if (info) return result(ftruncate((int)info->fh, size));
    int file = openat(folder, in(path), O_WRONLY), done;
    if (file < 0) return -errno;
    done = result(ftruncate(file, size));
    close(file);
    return done;
}
static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    (void)info;
    return result(utimensat(folder, in(path), times, AT_SYMLINK_NOFOLLOW));
}
static int opened(int file, struct fuse_file_info *info)
{
    if (file < 0) return -errno;
    info->fh = file;
    return 0;
}
static int fs_open(const char *path, struct fuse_file_info *info)
{
    return opened(openat(folder, in(path), info->flags), info);
}
static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    return opened(openat(folder, in(path), info->flags | O_CREAT, mode), info);
}
static int fs_read(const char *path, char *bytes, size_t size, off_t at, struct fuse_file_info *info)
{
    (void)path;
    return result(pread((int)info->fh, bytes, size, at));
}
static int fs_write(const char *path, const char *bytes, size_t size, off_t at, struct fuse_file_info *info)
{
    (void)path;
    return result(pwrite((int)info->fh, bytes, size, at));
}
static int fs_flush(const char *path, struct fuse_file_info *info)
{
    struct stat found;
    (void)path;
    if (fstat((int)info->fh, &found) < 0) return -errno;
    if (found.st_size <= limit) return 0;
    /* A descriptor for reading cannot be truncated; then another one has been. */
    return ftruncate((int)info->fh, limit) < 0 ? 0 : -EDQUOT;
}
static int fs_fsync(const char *path, int data, struct fuse_file_info *info)
{
    (void)path, (void)data, (void)info;
    return 0;
}
static int fs_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return result(close((int)info->fh));
}
static int fs_readdir(const char *path, void *list, fuse_fill_dir_t add, off_t at, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    int file = openat(folder, in(path), O_RDONLY | O_DIRECTORY);
    DIR *entries = file < 0 ? NULL : fdopendir(file);
    struct dirent *entry;
    (void)at, (void)info, (void)flags;
    if (!entries) return -errno;
    while ((entry = readdir(entries))) add(list, entry->d_name, NULL, 0, 0);
    closedir(entries);
    return 0;
}
static int fs_statfs(const char *path, struct statvfs *found)
{
    (void)path;
    return result(fstatvfs(folder, found));
}

static const struct fuse_operations operations = {
    .getattr = fs_getattr, .readlink = fs_readlink, .mkdir = fs_mkdir, .unlink = fs_unlink, .rmdir = fs_rmdir,
    .symlink = fs_symlink, .link = fs_link, .rename = fs_rename, .chmod = fs_chmod, .truncate = fs_truncate,
    .utimens = fs_utimens, .open = fs_open, .create = fs_create, .read = fs_read, .write = fs_write,
    .flush = fs_flush, .fsync = fs_fsync, .release = fs_release, .readdir = fs_readdir, .statfs = fs_statfs,
};

int main(int argc, char **argv)
{
    if (argc != 4 || (limit = atoll(argv[3])) <= 0) {
        fprintf(stderr, "quota_at_close FOLDER MOUNTPOINT LIMIT\n");
        return 2;
    }
    /* Opened before it is hidden below the mount. */
    folder = open(argv[1], O_RDONLY | O_DIRECTORY);
    if (folder < 0) {
        perror(argv[1]);
        return 1;
    }
    umask(0);
    char *arguments[] = {argv[0], "-o", "dev,suid", argv[2], NULL};
    return fuse_main(4, arguments, &operations, NULL);
}
