/* The arguments of a transfer. */

#ifndef FASTZARR_ARGUMENTS_H
#define FASTZARR_ARGUMENTS_H

#include "files.h"

static void *address(PyObject *addresses, Py_ssize_t number)
{
    PyObject *item = PyTuple_GetItem(addresses, number);
    return item ? PyLong_AsVoidPtr(item) : NULL;
}

static int is_tuple(const char *name, PyObject *given)
{
    if (PyTuple_Check(given)) return 1;
    PyErr_Format(PyExc_TypeError, "%s: expected a tuple or None", name);
    return 0;
}

/* `codec`: None, ("zstd", addresses, level, checksum), ("lz4", addresses, level, sized) or
   ("blosc", addresses, level, shuffle, typesize, blocksize, compressor). */
static int set_codec(Codec *codec, PyObject *given)
{
    if (given == Py_None) return 0;
    if (!is_tuple("codec", given)) return -1;
    const char *name;
    PyObject *addresses, *rest = PyTuple_GetSlice(given, 0, 2);
    if (!rest) return -1;
    int parsed = PyArg_ParseTuple(rest, "sO!", &name, &PyTuple_Type, &addresses);
    Py_DECREF(rest);
    if (!parsed) return -1;
    void **functions;
    Py_ssize_t count;
    if (strcmp(name, "zstd") == 0) {
        codec->kind = ZSTD;
        if (!PyArg_ParseTuple(given, "sOll", &name, &addresses, &codec->level, &codec->checksum)) return -1;
        functions = (void **)&codec->zstd;
        count = sizeof codec->zstd / sizeof *functions;
    } else if (strcmp(name, "blosc") == 0) {
        const char *compressor;
        codec->kind = BLOSC;
        if (!PyArg_ParseTuple(given, "sOlllls", &name, &addresses, &codec->level, &codec->shuffle, &codec->typesize,
                              &codec->blocksize, &compressor))
            return -1;
        snprintf(codec->compressor, sizeof codec->compressor, "%s", compressor);
        functions = (void **)&codec->blosc;
        count = sizeof codec->blosc / sizeof *functions;
    } else if (strcmp(name, "lz4") == 0) {
        codec->kind = LZ4;
        if (!PyArg_ParseTuple(given, "sOll", &name, &addresses, &codec->level, &codec->sized)) return -1;
        functions = (void **)&codec->lz4;
        count = sizeof codec->lz4 / sizeof *functions;
    } else {
        PyErr_Format(PyExc_ValueError, "codec: got '%s', expected 'zstd', 'lz4' or 'blosc'", name);
        return -1;
    }
    if (PyTuple_Size(addresses) != count) {
        PyErr_Format(PyExc_ValueError, "codec: got %zd functions, expected %zd", PyTuple_Size(addresses), count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(functions[i] = address(addresses, i))) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "codec: got a function at address 0");
            return -1;
        }
    return 0;
}

/* Whether the strides of a chunk are those of its dimensions in some order. */
static int has_no_gaps(const Transfer *t)
{
    size_t stride = t->item;
    for (uint32_t seen = 0; stride < t->nbytes;) {
        int d = 0;
        while (d < t->ndim &&
               (seen >> d & 1 || t->axes[d].chunk == 1 || (size_t)t->axes[d].chunk_stride != stride))
            d++;
        if (d == t->ndim) return 0;
        seen |= (uint32_t)1 << d;
        stride *= (size_t)t->axes[d].chunk;
    }
    return 1;
}

static int set_axes(Transfer *t, const Py_buffer *dimensions)
{
    enum { FIELDS = 7 };
    const int64_t *given = dimensions->buf;
    if (t->array.ndim > MOST_DIMENSIONS || t->array.ndim < 1 ||
        (size_t)dimensions->len != (size_t)t->array.ndim * FIELDS * sizeof *given) {
        PyErr_SetString(PyExc_ValueError, "dimensions: expected seven integers for each of 1 to 32 dimensions");
        return -1;
    }
    t->ndim = t->array.ndim;
    t->item = (size_t)t->array.itemsize;
    t->nbytes = t->item;
    t->count = 1;
    for (int d = 0; d < t->ndim; d++, given += FIELDS) {
        Axis *axis = &t->axes[d];
        *axis = (Axis){.start = given[0], .stop = given[1], .step = given[2], .length = given[3], .chunk = given[4],
                       .size = given[5], .chunk_stride = given[6], .array_stride = t->array.strides[d]};
        int inside = axis->step >= 1 && axis->chunk >= 1 && axis->step <= axis->chunk && axis->length >= 1 &&
                     axis->start >= 0 && axis->start < axis->stop && axis->stop <= axis->size &&
                     axis->length - 1 <= (axis->stop - 1 - axis->start) / axis->step &&
                     t->array.shape[d] == axis->length && axis->chunk_stride >= 1;
        if (!inside) {
            PyErr_Format(PyExc_ValueError, "dimensions: number %d does not fit the array", d);
            return -1;
        }
        axis->first = axis->start / axis->chunk;
        axis->count = (axis->start + (axis->length - 1) * axis->step) / axis->chunk - axis->first + 1;
        if (__builtin_mul_overflow(t->count, axis->count, &t->count) ||
            __builtin_mul_overflow(t->nbytes, (size_t)axis->chunk, &t->nbytes) || t->nbytes > PY_SSIZE_T_MAX) {
            PyErr_SetString(PyExc_ValueError, "dimensions: expected less than 2**63 chunks, and bytes of a chunk");
            return -1;
        }
    }
    if (!has_no_gaps(t)) {
        PyErr_SetString(PyExc_ValueError, "dimensions: expected strides of a chunk without gaps");
        return -1;
    }
    return 0;
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* How many coordinates a template takes; -1 where it has a `%` that is none of `%d` and `%%`. */
static int count_places(const char *template)
{
    int places = 0;
    for (; *template; template ++) {
        if (*template != '%') continue;
        template ++;
        if (*template != 'd' && *template != '%') return -1;
        places += *template == 'd';
    }
    return places;
}

/* Transfer(array, writable, dimensions, fill, elide, fill_missing, codec, files, shard)

   files: (root, real root with a slash at its end, template of keys, name for unfinished files), or None
   shard: (file descriptor, index, where the inner chunks end, b""), or None
   both: a shard whose key is the template and that has the version (get_version), with -1 as descriptor */
static PyObject *transfer_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *array, *codec, *files, *shard;
    int writable, elide, missing;
    Py_buffer dimensions, fill;
    if (!PyArg_ParseTuple(args, "Opy*y*ppOOO", &array, &writable, &dimensions, &fill, &elide, &missing, &codec, &files,
                          &shard))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Transfer *t = (Transfer *)allocate(type, 0);
    if (!t) goto failed;
    t->elide = elide;
    t->fill_missing = missing;
    t->file = -1;
    t->writable = writable;
    if (PyObject_GetBuffer(array, &t->array, PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0))) goto failed;
    t->has_array = 1;
    if (set_axes(t, &dimensions) || set_codec(&t->codec, codec)) goto failed;
    if ((size_t)fill.len != t->item) {
        PyErr_Format(PyExc_ValueError, "fill: got %zd bytes, expected %zu", fill.len, t->item);
        goto failed;
    }
    t->fill = malloc(t->item + 1);
    if (!t->fill) {
        PyErr_NoMemory();
        goto failed;
    }
    memcpy(t->fill, fill.buf, t->item);
    if (files != Py_None) {
        const char *root, *inside, *template, *partial;
        if (!is_tuple("files", files) ||
            !PyArg_ParseTuple(files, "yyyy", &root, &inside, &template, &partial))
            goto failed;
        t->root = copy_text(root);
        t->inside = copy_text(inside);
        t->template = copy_text(template);
        t->partial = copy_text(partial);
        if (!t->root || !t->inside || !t->template || !t->partial) {
            PyErr_NoMemory();
            goto failed;
        }
        t->inside_length = strlen(inside);
        if (strlen(root) >= PATH_SIZE || strlen(template) >= PATH_SIZE ||
            (shard == Py_None && count_places(template) != t->ndim)) {
            PyErr_SetString(PyExc_ValueError, "files: expected a shorter root, and a place for each coordinate");
            goto failed;
        }
    }
    if (shard != Py_None) {
        PyObject *index;
        Py_ssize_t limit, version_size;
        const char *version;
        if (!is_tuple("shard", shard) ||
            !PyArg_ParseTuple(shard, "iOny#", &t->file, &index, &limit, &version, &version_size))
            goto failed;
        if (files != Py_None && (version_size != sizeof t->version || t->file != -1)) {
            PyErr_SetString(PyExc_ValueError, "shard: expected file -1 and a version of 40 bytes");
            goto failed;
        }
        if (files != Py_None) memcpy(t->version, version, sizeof t->version);
        if (PyObject_GetBuffer(index, &t->index, PyBUF_C_CONTIGUOUS)) goto failed;
        t->has_index = 1;
        t->limit = (size_t)limit;
        int fits = limit >= 0 && t->index.ndim == t->ndim + 1 && t->index.itemsize == 8 && t->index.shape[t->ndim] == 2;
        for (int d = 0; fits && d < t->ndim; d++)
            fits = t->index.shape[d] > (t->axes[d].size - 1) / t->axes[d].chunk;
        if (!fits) {
            PyErr_SetString(PyExc_ValueError,
                            "shard: expected an index of uint64 in the shape of its chunks, and 2, and a limit");
            goto failed;
        }
    }
    if (files == Py_None && shard == Py_None) {
        PyErr_SetString(PyExc_ValueError, "got neither files nor a shard");
        goto failed;
    }
    PyBuffer_Release(&dimensions);
    PyBuffer_Release(&fill);
    return (PyObject *)t;
failed:
    PyBuffer_Release(&dimensions);
    PyBuffer_Release(&fill);
    Py_XDECREF((PyObject *)t);
    return NULL;
}

#endif
