/* Inner chunks of a shard. */

#ifndef FASTZARR_SHARDS_H
#define FASTZARR_SHARDS_H

#include "files.h"

static const uint64_t ABSENT = UINT64_MAX;

/* Offset and size of an inner chunk in the index. */
static uint64_t *entry_of(const Transfer *t, const Part *part)
{
    Py_ssize_t at = 0;
    for (int d = 0; d < t->ndim; d++) {
        at = at * t->index.shape[d] + part->coords[d];
    }
    return (uint64_t *)t->index.buf + 2 * at;
}

static int read_inner(const Transfer *t, Scratch *s, Part *part, int file)
{
    const uint64_t *entry = entry_of(t, part);
    if (entry[0] == ABSENT) {
        fill_box(&part->box, 0, part->array, t->fill);
        return DONE;
    }
    if (entry[1] > t->limit || entry[0] > t->limit - entry[1]) return LEFT;
    return read_stored(t, s, part, file, (size_t)entry[0], (size_t)entry[1]);
}

/* Device, number, size and times of a file, which tell it from what was or will be in its place. */
static void get_version(const struct stat *status, uint64_t *version)
{
#ifdef __APPLE__
    struct timespec changed = status->st_mtimespec, renamed = status->st_ctimespec;
#else
    struct timespec changed = status->st_mtim, renamed = status->st_ctim;
#endif
    version[0] = (uint64_t)status->st_dev;
    version[1] = (uint64_t)status->st_ino;
    version[2] = (uint64_t)status->st_size;
    version[3] = (uint64_t)changed.tv_sec * 1000000000u + (uint64_t)changed.tv_nsec;
    version[4] = (uint64_t)renamed.tv_sec * 1000000000u + (uint64_t)renamed.tv_nsec;
}

/* Open the shard of which the index is known; -1 where there is another in its place. */
static int open_shard(const Transfer *t)
{
    char path[2 * PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", t->root, t->template);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    uint64_t version[5];
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && is_inside(t, file)) {
        get_version(&status, version);
        if (memcmp(version, t->version, sizeof version) == 0) return file;
    }
    close(file);
    return -1;
}

static int write_inner(const Transfer *t, Scratch *s, Part *part)
{
    const uint64_t *entry = entry_of(t, part);
    if (entry[0] == ABSENT) return DONE;
    if (part->padded) {
        char *chunk = whole_chunk(t, s, part);
        return chunk ? write_at(t->file, chunk, t->nbytes, (size_t)entry[0]) : LEFT;
    }
    return move_plain(&part->box, 0, part->array, t->file, (size_t)entry[0], s->piece, 0);
}

#endif
