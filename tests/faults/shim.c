/* Fails, or kills at, the n-th call that the program makes of the system on
 * anything under one folder. Preloaded into the program by the tests; the
 * program knows nothing of it.
 *
 *   WIMG_FAULT_UNDER  the folder
 *   WIMG_FAULT_AT     the call, from 1; 0 for none
 *   WIMG_FAULT_DO     EIO, ENOSPC, EINVAL or EINTR; SHORT: half of a read or
 *                     write; KILL: SIGKILL before the call
 *   WIMG_FAULT_ONLY   if set, only calls of this name count
 *   WIMG_FAULT_BYTES  if set, SIGKILL after so many bytes were written
 *   WIMG_FAULT_LOG    a file that gets the name of the call that was hit
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 4096

static atomic_long calls, written;
static atomic_uchar tracked[FILES];
static const char *under, *what, *only, *log_path;
static long at, bytes = -1;

__attribute__((constructor)) static void start(void) {
    const char *text;
    under = getenv("WIMG_FAULT_UNDER");
    what = getenv("WIMG_FAULT_DO");
    only = getenv("WIMG_FAULT_ONLY");
    log_path = getenv("WIMG_FAULT_LOG");
    if ((text = getenv("WIMG_FAULT_AT"))) at = atol(text);
    if ((text = getenv("WIMG_FAULT_BYTES"))) bytes = atol(text);
    if (!what) what = "";
    if (only && !*only) only = NULL;
}

static void note(const char *name) {
    if (!log_path) return;
    int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (syscall(SYS_write, fd, name, strlen(name)) < 0) abort();
    syscall(SYS_close, fd);
}

static void die(const char *name) {
    note(name);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* 0, or what the call must fail with; -1 for a short one. */
static int hit(const char *name) {
    if (!under || (only && strcmp(only, name))) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != at) return 0;
    if (!strcmp(what, "KILL")) die(name);
    note(name);
    if (!strcmp(what, "ENOSPC")) return ENOSPC;
    if (!strcmp(what, "EINVAL")) return EINVAL;
    if (!strcmp(what, "EINTR")) return EINTR;
    if (!strcmp(what, "SHORT")) return -1;
    return EIO;
}

static int is_ours(int fd) { return fd >= 0 && fd < FILES && tracked[fd]; }

static int lies_under(int dir, const char *path) {
    if (!under) return 0;
    if (path && *path == '/') return !strncmp(path, under, strlen(under));
    return is_ours(dir);
}

static int opened(int fd, int ours) {
    if (fd >= 0 && fd < FILES) tracked[fd] = ours;
    return fd;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAULT(name, bad)               \
    do {                               \
        int error = hit(name);         \
        if (error > 0) {               \
            errno = error;             \
            return bad;                \
        }                              \
    } while (0)

#define OPEN(name)                                                       \
    int name(const char *path, int flags, ...) {                         \
        va_list list;                                                    \
        va_start(list, flags);                                           \
        mode_t mode = va_arg(list, mode_t);                              \
        va_end(list);                                                    \
        int ours = lies_under(-1, path);                                 \
        if (ours) FAULT("open", -1);                                     \
        return opened(REAL(name)(path, flags, mode), ours);              \
    }
#define OPENAT(name)                                                     \
    int name(int dir, const char *path, int flags, ...) {                \
        va_list list;                                                    \
        va_start(list, flags);                                           \
        mode_t mode = va_arg(list, mode_t);                              \
        va_end(list);                                                    \
        int ours = lies_under(dir, path);                                \
        if (ours) FAULT("open", -1);                                     \
        return opened(REAL(name)(dir, path, flags, mode), ours);         \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    opened(fd, 0);
    return REAL(close)(fd);
}

DIR *opendir(const char *path) {
    int ours = lies_under(-1, path);
    if (ours) FAULT("opendir", NULL);
    DIR *dir = REAL(opendir)(path);
    if (dir) opened(dirfd(dir), ours);
    return dir;
}

struct dirent64 *readdir64(DIR *dir) {
    if (is_ours(dirfd(dir))) FAULT("readdir", NULL);
    return REAL(readdir64)(dir);
}

/* Moves as much as it may: half, if that is the fault; dies in the middle of
 * what passes the bytes it was given to live. */
#define WRITE(name, params, args)                                        \
    ssize_t name params {                                                \
        if (!is_ours(fd)) return REAL(name) args;                        \
        int error = hit("write");                                        \
        if (error > 0) {                                                 \
            errno = error;                                               \
            return -1;                                                   \
        }                                                                \
        if (error < 0 && count > 1) count /= 2;                          \
        long before = atomic_fetch_add(&written, count);                 \
        if (bytes >= 0 && before + (long)count > bytes) {                \
            count = before < bytes ? bytes - before : 0;                 \
            if (count && REAL(name) args < 0) abort();                   \
            die("write");                                                \
        }                                                                \
        return REAL(name) args;                                          \
    }
WRITE(write, (int fd, const void *data, size_t count), (fd, data, count))
WRITE(pwrite, (int fd, const void *data, size_t count, off_t to), (fd, data, count, to))
WRITE(pwrite64, (int fd, const void *data, size_t count, off64_t to), (fd, data, count, to))

#define READ(name, params, args)                                         \
    ssize_t name params {                                                \
        if (!is_ours(fd)) return REAL(name) args;                        \
        int error = hit("read");                                         \
        if (error > 0) {                                                 \
            errno = error;                                               \
            return -1;                                                   \
        }                                                                \
        if (error < 0 && count > 1) count /= 2;                          \
        return REAL(name) args;                                          \
    }
READ(read, (int fd, void *data, size_t count), (fd, data, count))
READ(pread, (int fd, void *data, size_t count, off_t from), (fd, data, count, from))
READ(pread64, (int fd, void *data, size_t count, off64_t from), (fd, data, count, from))

#define ON_FILE(name, as, params, args)                                  \
    int name params {                                                    \
        if (is_ours(fd)) FAULT(as, -1);                                  \
        return REAL(name) args;                                          \
    }
ON_FILE(fsync, "fsync", (int fd), (fd))
ON_FILE(fdatasync, "fsync", (int fd), (fd))
ON_FILE(ftruncate, "ftruncate", (int fd, off_t length), (fd, length))
ON_FILE(ftruncate64, "ftruncate", (int fd, off64_t length), (fd, length))
ON_FILE(flock, "flock", (int fd, int operation), (fd, operation))

int posix_fadvise64(int fd, off64_t offset, off64_t length, int advice) {
    int error = is_ours(fd) ? hit("fadvise") : 0;
    return error > 0 ? error : REAL(posix_fadvise64)(fd, offset, length, advice);
}

#define ON_PATH(name, as, dir, params, args)                             \
    int name params {                                                    \
        if (lies_under(dir, path)) FAULT(as, -1);                        \
        return REAL(name) args;                                          \
    }
ON_PATH(mkdir, "mkdir", -1, (const char *path, mode_t mode), (path, mode))
ON_PATH(rmdir, "rmdir", -1, (const char *path), (path))
ON_PATH(unlink, "unlink", -1, (const char *path), (path))
ON_PATH(unlinkat, "unlink", fd, (int fd, const char *path, int flags), (fd, path, flags))
ON_PATH(rename, "rename", -1, (const char *path, const char *to), (path, to))
ON_PATH(renameat, "rename", fd, (int fd, const char *path, int to_fd, const char *to),
        (fd, path, to_fd, to))
ON_PATH(renameat2, "renameat2", fd,
        (int fd, const char *path, int to_fd, const char *to, unsigned flags),
        (fd, path, to_fd, to, flags))
ON_PATH(statx, "stat", fd,
        (int fd, const char *path, int flags, unsigned mask, struct statx *out),
        (fd, path, flags, mask, out))
ON_PATH(statvfs, "statvfs", -1, (const char *path, struct statvfs *out), (path, out))
ON_PATH(statvfs64, "statvfs", -1, (const char *path, struct statvfs64 *out), (path, out))
