/* Makes the disk of one folder fail on command, for `disk.rs`.
 *
 * It is loaded before the C library. TROUBLE_DIR is the folder; the first byte of the file TROUBLE is
 * the trouble at this moment: '0' none, 'f' full, 'r' read-only, 'w' writes fail, 's' syncs fail,
 * 'b' syncs block until this ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static const volatile char *trouble;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TROUBLE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    folder = getenv("TROUBLE_DIR");
    trouble = map;
}

static char at_path(const char *path)
{
    if (folder == NULL || trouble == NULL || strncmp(path, folder, strlen(folder)) != 0)
        return '0';
    return *trouble;
}

static char at(int fd)
{
    char link[64], path[4096];
    if (trouble == NULL || *trouble == '0')
        return '0';
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return '0';
    path[length] = '\0';
    return at_path(path);
}

/* The error of a change of a file in this trouble; 0 for none. */
static int error_of_change(char now)
{
    switch (now) {
    case 'f': return ENOSPC;
    case 'r': return EROFS;
    case 'w': return EIO;
    default: return 0;
    }
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CHANGE(now)                        \
    do {                                   \
        int error = error_of_change(now);  \
        if (error != 0) {                  \
            errno = error;                 \
            return -1;                     \
        }                                  \
    } while (0)

ssize_t write(int fd, const void *from, size_t size)
{
    CHANGE(at(fd));
    return REAL(write)(fd, from, size);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t place)
{
    CHANGE(at(fd));
    return REAL(pwrite)(fd, from, size, place);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t place)
{
    CHANGE(at(fd));
    return REAL(pwrite64)(fd, from, size, place);
}

/* A full disk has room for a file that becomes shorter. */
int ftruncate(int fd, off_t size)
{
    char now = at(fd);
    if (now != 'f')
        CHANGE(now);
    return REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    char now = at(fd);
    if (now != 'f')
        CHANGE(now);
    return REAL(ftruncate64)(fd, size);
}

static int sync_error(int fd)
{
    char now;
    while ((now = at(fd)) == 'b') {
        struct timespec moment = { 0, 1000 * 1000 };
        nanosleep(&moment, NULL);
    }
    return now == 's';
}

int fsync(int fd)
{
    if (sync_error(fd)) {
        errno = EIO;
        return -1;
    }
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    if (sync_error(fd)) {
        errno = EIO;
        return -1;
    }
    return REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
    CHANGE(at_path(from));
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    char now = at_path(path);
    if (now != 'f')
        CHANGE(now);
    return REAL(unlink)(path);
}

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode)
{
    char now = at_path(path);
    if (now == 'r' && (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0) {
        errno = EROFS;
        return -1;
    }
    return real(path, flags, mode);
}

#define MODE(flags, mode)                                \
    mode_t mode = 0;                                     \
    if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {        \
        va_list rest;                                    \
        va_start(rest, flags);                           \
        mode = va_arg(rest, mode_t);                     \
        va_end(rest);                                    \
    }

int open(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(REAL(open), path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(REAL(open64), path, flags, mode);
}
