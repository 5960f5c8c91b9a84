/* What a transfer knows, and the share of each chunk. */

#ifndef FASTZARR_TRANSFER_H
#define FASTZARR_TRANSFER_H

#include "box.h"
#include "codecs.h"
#include "scratch.h"

typedef struct {
    Py_ssize_t start, stop, step, length; /* the selection */
    Py_ssize_t chunk, size;               /* elements of a chunk, of the array */
    Py_ssize_t first, count;              /* chunks that the selection meets */
    Py_ssize_t array_stride, chunk_stride;
} Axis;

typedef struct {
    Py_ssize_t coord, from, out, taken;
    int whole, padded;
} Share;

typedef struct {
    PyObject_HEAD
    Py_buffer array;
    int has_array, writable;
    int ndim;
    Axis axes[MOST_DIMENSIONS];
    Py_ssize_t count;
    size_t item, nbytes;
    char *fill;
    int elide, fill_missing;
    Codec codec;
    Scratch *scratch;
    /* files */
    char *root, *inside, *template, *partial;
    size_t inside_length;
    /* a shard */
    int file; /* -1 where the kernel opens it */
    Py_buffer index;
    int has_index;
    size_t limit;
    uint64_t version[5];
} Transfer;

static Share share_of(const Axis *axis, Py_ssize_t number)
{
    Share share;
    share.coord = axis->first + number;
    Py_ssize_t begin = share.coord * axis->chunk;
    share.out = begin > axis->start ? (begin - axis->start - 1) / axis->step + 1 : 0;
    Py_ssize_t first = axis->start + share.out * axis->step;
    Py_ssize_t end = axis->stop - begin < axis->chunk ? axis->stop - begin : axis->chunk;
    share.from = first - begin;
    share.taken = share.from < end ? (end - share.from - 1) / axis->step + 1 : 0;
    Py_ssize_t inside = axis->size - begin;
    share.padded = inside < axis->chunk;
    share.whole = share.taken == (share.padded ? inside : axis->chunk);
    return share;
}

/* One chunk's share of the selection. */
typedef struct {
    Py_ssize_t coords[MOST_DIMENSIONS];
    Box box;
    char *array;       /* the first element in the array */
    size_t offset;     /* the first element in the chunk, in bytes */
    int empty, complete, padded;
} Part;

static void locate(const Transfer *t, Py_ssize_t number, Part *part)
{
    part->array = t->array.buf;
    part->offset = 0;
    part->empty = 0;
    part->complete = 1;
    part->padded = 0;
    part->box.ndim = t->ndim;
    part->box.item = t->item;
    for (int d = t->ndim - 1; d >= 0; d--) {
        const Axis *axis = &t->axes[d];
        Share share = share_of(axis, number % axis->count);
        number /= axis->count;
        part->coords[d] = share.coord;
        part->array += share.out * axis->array_stride;
        part->offset += (size_t)share.from * (size_t)axis->chunk_stride;
        part->box.n[d] = share.taken;
        part->box.array[d] = axis->array_stride;
        part->box.chunk[d] = axis->chunk_stride * axis->step;
        part->empty |= share.taken == 0;
        part->complete &= share.whole;
        part->padded |= share.padded;
    }
    if (!part->empty) simplify(&part->box);
}

#endif
