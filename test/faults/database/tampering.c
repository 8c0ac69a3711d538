/*
 * Preloaded into a PostgreSQL of a fault run. TAMPERING_FILE holds two numbers of 8 bytes: microseconds that its clock is ahead,
 * and whether the files of tables that the service has made answer EIO.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t nothing[2];
static const volatile int64_t *control = nothing;

__attribute__((constructor)) static void map_control(void)
{
  const char *path = getenv("TAMPERING_FILE");
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  int file = path == NULL ? -1 : real_open(path, O_RDONLY);
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) control = mapped;
  if (file >= 0) close(file);
}

#define REAL(name) static __typeof__(name) *real; if (real == NULL) real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
  REAL(gettimeofday);
  int result = real(at, zone);
  int64_t us = (int64_t) at->tv_sec * 1000000 + at->tv_usec + control[0];
  at->tv_sec = us / 1000000;
  at->tv_usec = us % 1000000;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
  REAL(clock_gettime);
  int result = real(clock, at);
  if (clock == CLOCK_REALTIME) at->tv_sec += control[0] / 1000000;
  return result;
}

time_t time(time_t *at)
{
  REAL(time);
  time_t now = real(NULL) + control[0] / 1000000;
  if (at != NULL) *at = now;
  return now;
}

/* Files of the catalogue have smaller numbers. */
static int is_broken_path(const char *path)
{
  const char *base = strstr(path, "base/");
  const char *name = base == NULL ? NULL : strrchr(path, '/');
  return name != NULL && atoi(name + 1) >= 16384;
}

static int is_broken(int file)
{
  char link[64], path[4096];
  if (control[1] == 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_broken_path(path);
}

#define BREAK(file, failure) if (is_broken(file)) { errno = EIO; return failure; }

int open(const char *path, int flags, ...)
{
  REAL(open);
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (control[1] != 0 && is_broken_path(path)) { errno = EIO; return -1; }
  return real(path, flags, mode);
}

ssize_t pread(int file, void *bytes, size_t size, off_t at) { REAL(pread); BREAK(file, -1) return real(file, bytes, size, at); }
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) { REAL(pwrite); BREAK(file, -1) return real(file, bytes, size, at); }
ssize_t preadv(int file, const struct iovec *parts, int count, off_t at) { REAL(preadv); BREAK(file, -1) return real(file, parts, count, at); }
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) { REAL(pwritev); BREAK(file, -1) return real(file, parts, count, at); }
int posix_fallocate(int file, off_t at, off_t size) { REAL(posix_fallocate); if (is_broken(file)) return EIO; return real(file, at, size); }
