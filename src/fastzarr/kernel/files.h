/* Chunks that are files of their own. */

#ifndef FASTZARR_FILES_H
#define FASTZARR_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "stored.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

enum { PATH_SIZE = 4096 };

/* The directory of the chunk before, which is mostly that of the next one too. */
typedef struct {
    int file; /* -1 where it is absent */
    int known;
    size_t length;
    char path[PATH_SIZE];
} Directory;

static void close_directory(Directory *directory)
{
    if (directory->known && directory->file >= 0) close(directory->file);
    directory->known = 0;
}

/* The key of a chunk; its length, or 0 where it does not fit. */
static size_t make_key(const char *template, const Py_ssize_t *coords, char *key)
{
    char *at = key, *end = key + PATH_SIZE - 24;
    for (; *template && at < end; template ++) {
        if (*template == '%' && *++template == 'd')
            at += sprintf(at, "%zd", *coords++);
        else
            *at++ = *template;
    }
    *at = 0;
    return *template ? 0 : (size_t)(at - key);
}

static int is_inside(const Transfer *t, int directory)
{
    char path[PATH_SIZE + 1];
#ifdef F_GETPATH
    if (fcntl(directory, F_GETPATH, path)) return 0;
    size_t length = strlen(path);
#else
    char link[32];
    sprintf(link, "/proc/self/fd/%d", directory);
    ssize_t found = readlink(link, path, PATH_SIZE - 1);
    if (found <= 0 || found >= PATH_SIZE - 1) return 0;
    size_t length = (size_t)found;
#endif
    path[length++] = '/';
    return length >= t->inside_length && memcmp(path, t->inside, t->inside_length) == 0;
}

/* Open a directory below the root, making what is not there; no link is followed. */
static int make_directory(const Transfer *t, char *path)
{
    int file = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0 && !is_inside(t, file)) {
        close(file);
        return -1;
    }
    for (char *name = path; file >= 0 && *name;) {
        char *end = strchr(name, '/');
        if (end) *end = 0;
        int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int below = openat(file, name, flags);
        if (below < 0 && errno == ENOENT && (mkdirat(file, name, 0777) == 0 || errno == EEXIST))
            below = openat(file, name, flags);
        close(file);
        file = below;
        if (!end) break;
        *end = '/';
        name = end + 1;
    }
    return file;
}

/* Have `directory` be that of a key, whose last part is returned; NULL where that is left to others. */
static char *enter(const Transfer *t, Directory *directory, char *key, int make)
{
    char *slash = strrchr(key, '/');
    char *name = slash ? slash + 1 : key;
    size_t length = slash ? (size_t)(slash - key) : 0;
    if (directory->known && directory->length == length && memcmp(directory->path, key, length) == 0 &&
        (directory->file >= 0 || !make))
        return name;
    close_directory(directory);
    memcpy(directory->path, key, length);
    directory->path[length] = 0;
    directory->length = length;
    char full[2 * PATH_SIZE];
    snprintf(full, sizeof full, "%s/%s", t->root, directory->path);
    int file = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) {
        if (errno != ENOENT) return NULL;
        if (make && (file = make_directory(t, directory->path)) < 0) return NULL;
    } else if (!is_inside(t, file)) {
        close(file);
        return NULL;
    }
    directory->file = file;
    directory->known = 1;
    return name;
}

static int fill_missing(const Transfer *t, Part *part)
{
    if (!t->fill_missing) return LEFT;
    fill_box(&part->box, 0, part->array, t->fill);
    return DONE;
}

static int read_file(const Transfer *t, Scratch *s, Directory *directory, Part *part)
{
    char key[PATH_SIZE];
    if (!make_key(t->template, part->coords, key)) return LEFT;
    char *name = enter(t, directory, key, 0);
    if (!name) return LEFT;
    if (directory->file < 0) return fill_missing(t, part);
    int file = openat(directory->file, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? fill_missing(t, part) : LEFT;
    struct stat status;
    int outcome = LEFT;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        outcome = read_stored(t, s, part, file, 0, (size_t)status.st_size);
    close(file);
    return outcome;
}

static int put_content(const Transfer *t, Scratch *s, Part *part, int file)
{
    if (t->codec.kind == PLAIN && !part->padded)
        return move_plain(&part->box, 0, part->array, file, 0, s->piece, 0);
    char *chunk = whole_chunk(t, s, part);
    if (!chunk) return LEFT;
    if (t->codec.kind == PLAIN) return write_at(file, chunk, t->nbytes, 0);
    size_t most = most_encoded(t);
    if (!room(&s->encoded, &s->encoded_size, most)) return LEFT;
    size_t size = encode(t, s, s->encoded, most, chunk);
    return size ? write_at(file, s->encoded, size, 0) : LEFT;
}

static unsigned long long serial;

/* Written beside its place, then renamed. */
static int write_file(const Transfer *t, Scratch *s, Directory *directory, Part *part)
{
    char key[PATH_SIZE], partial[PATH_SIZE + 64];
    if (!part->complete || !make_key(t->template, part->coords, key)) return LEFT;
    int erase = t->elide && box_is_filled(&part->box, part->array, t->fill);
    char *name = enter(t, directory, key, !erase);
    if (!name) return LEFT;
    if (erase) return directory->file < 0 || unlinkat(directory->file, name, 0) == 0 || errno == ENOENT ? DONE : LEFT;
    unsigned long long number = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    snprintf(partial, sizeof partial, ".%s.%lx-%s-k%llx.partial", name, (long)getpid(), t->partial, number);
    int file = openat(directory->file, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return LEFT;
    int failed = put_content(t, s, part, file);
    failed |= close(file) != 0;
    if (!failed && renameat(directory->file, partial, directory->file, name) == 0) return DONE;
    unlinkat(directory->file, partial, 0);
    return LEFT;
}

#endif
