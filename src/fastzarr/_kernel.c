/* Chunks between files and the memory of an array, many in one call and without Python's lock.

   A `Transfer` is made for one selection of one array. Its methods take a run of chunks, counted in C order, and
   return the numbers of those that were not done: whatever is unusual (a link, a wrong size, a frame that is not
   plain, any error of the system) is left to the caller, whose own way of doing it raises the right errors. The
   codecs' functions are those of the libraries that Python's codecs use, given by address. */

#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

enum { MOST_DIMENSIONS = 32, PIECE = 1 << 18, DIRECT = 1 << 15, KEPT = 1 << 21, MOST_IDLE = 32, PATH_SIZE = 4096, AHEAD = 8 };
enum { LONG_ROW = 512, MOST_ROWS = 512 };

enum outcome { DONE = 0, LEFT = 1 };

/* ---- Copies between a box of an array and the same box of a chunk ---------------------------------------- */

typedef struct {
    int ndim;
    size_t item;                          /* bytes of an element */
    Py_ssize_t n[MOST_DIMENSIONS];        /* elements along each dimension, all above 1 */
    Py_ssize_t array[MOST_DIMENSIONS];    /* strides of the array in bytes */
    Py_ssize_t chunk[MOST_DIMENSIONS];    /* strides of the chunk in bytes, descending */
} Box;

/* Rows that come soon are asked for in time: 1.1 to 1.5 x as fast for rows that are apart by pages. */
#define ROWS(size)                                                                                                  \
    for (Py_ssize_t i = 0; i < n; i++) {                                                                            \
        __builtin_prefetch(from + (i + AHEAD) * fs, 0, 2);                                                          \
        __builtin_prefetch(to + (i + AHEAD) * ts, 1, 2);                                                            \
        memcpy(to + i * ts, from + i * fs, size);                                                                   \
    }                                                                                                               \
    return

/* `n` pieces of `size` bytes; a size known when this is compiled makes each of them a few instructions. */
static void copy_rows(char *to, Py_ssize_t ts, const char *from, Py_ssize_t fs, Py_ssize_t n, size_t size)
{
    switch (size) {
    case 1: ROWS(1);
    case 2: ROWS(2);
    case 4: ROWS(4);
    case 8: ROWS(8);
    case 16: ROWS(16);
    case 32: ROWS(32);
    case 64: ROWS(64);
    case 128: ROWS(128);
    default: ROWS(size);
    }
}

static void copy_dimensions(const Py_ssize_t *n, const Py_ssize_t *ts, const Py_ssize_t *fs, int ndim, char *to,
                            const char *from, size_t size)
{
    if (ndim == 0) {
        memcpy(to, from, size);
    } else if (ndim == 1) {
        copy_rows(to, ts[0], from, fs[0], n[0], size);
    } else {
        for (Py_ssize_t i = 0; i < n[0]; i++)
            copy_dimensions(n + 1, ts + 1, fs + 1, ndim - 1, to + i * ts[0], from + i * fs[0], size);
    }
}

/* Whether the last dimension of a box is one run of bytes in both. */
static int has_runs(const Box *box)
{
    int last = box->ndim - 1;
    Py_ssize_t item = (Py_ssize_t)box->item;
    return last >= 0 && box->array[last] == item && box->chunk[last] == item;
}

static void copy_box(const Box *box, int first, char *array, char *chunk, int reading)
{
    int ndim = box->ndim - first;
    size_t size = box->item;
    if (ndim > 0 && has_runs(box)) {
        ndim -= 1;
        size *= (size_t)box->n[box->ndim - 1];
    }
    const Py_ssize_t *n = box->n + first, *as = box->array + first, *cs = box->chunk + first;
    if (reading)
        copy_dimensions(n, as, cs, ndim, array, chunk, size);
    else
        copy_dimensions(n, cs, as, ndim, chunk, array, size);
}

/* Bytes from the first to the last element of a box in the chunk, of the dimensions from `first` on. */
static size_t span(const Box *box, int first)
{
    size_t bytes = box->item;
    for (int d = first; d < box->ndim; d++) bytes += (size_t)(box->n[d] - 1) * (size_t)box->chunk[d];
    return bytes;
}

/* Leave out dimensions of one element, put the chunk's strides in descending order, and join what is one run. */
static void simplify(Box *box)
{
    int kept = 0;
    for (int d = 0; d < box->ndim; d++) {
        if (box->n[d] == 1) continue;
        Py_ssize_t n = box->n[d], array = box->array[d], chunk = box->chunk[d];
        int at = kept++;
        for (; at > 0 && box->chunk[at - 1] < chunk; at--) {
            box->n[at] = box->n[at - 1];
            box->array[at] = box->array[at - 1];
            box->chunk[at] = box->chunk[at - 1];
        }
        box->n[at] = n;
        box->array[at] = array;
        box->chunk[at] = chunk;
    }
    box->ndim = 0;
    for (int d = 0; d < kept; d++) {
        int last = box->ndim - 1;
        if (last >= 0 && box->chunk[last] == box->n[d] * box->chunk[d] && box->array[last] == box->n[d] * box->array[d]) {
            box->n[last] *= box->n[d];
        } else {
            last = box->ndim++;
            box->n[last] = box->n[d];
        }
        box->array[last] = box->array[d];
        box->chunk[last] = box->chunk[d];
    }
}

static void repeat(char *to, const char *element, size_t item, size_t bytes)
{
    if (bytes == 0) return;
    memcpy(to, element, item);
    for (size_t done = item; done < bytes;) {
        size_t more = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, more);
        done += more;
    }
}

static void fill_box(const Box *box, int d, char *array, const char *element)
{
    if (d == box->ndim) {
        memcpy(array, element, box->item);
    } else if (d == box->ndim - 1 && box->array[d] == (Py_ssize_t)box->item) {
        repeat(array, element, box->item, (size_t)box->n[d] * box->item);
    } else {
        for (Py_ssize_t i = 0; i < box->n[d]; i++) fill_box(box, d + 1, array + i * box->array[d], element);
    }
}

static int is_filled(const Box *box, int d, const char *array, const char *element)
{
    size_t item = box->item;
    if (d == box->ndim) return memcmp(array, element, item) == 0;
    if (d == box->ndim - 1 && box->array[d] == (Py_ssize_t)item)
        return memcmp(array, element, item) == 0 &&
               memcmp(array, array + item, (size_t)(box->n[d] - 1) * item) == 0;
    for (Py_ssize_t i = 0; i < box->n[d]; i++)
        if (!is_filled(box, d + 1, array + i * box->array[d], element)) return 0;
    return 1;
}

/* Whether all elements have the bits of `element`; the last one is looked at first, as the first one is then. */
static int box_is_filled(const Box *box, const char *array, const char *element)
{
    const char *last = array;
    for (int d = 0; d < box->ndim; d++) last += (box->n[d] - 1) * box->array[d];
    return memcmp(last, element, box->item) == 0 && is_filled(box, 0, array, element);
}

/* ---- Codecs of other libraries ----------------------------------------------------------------------------- */

enum codec_kind { PLAIN = 0, ZSTD = 1, BLOSC = 2 };

enum { ZSTD_LEVEL = 100, ZSTD_CHECKSUM = 201 };

typedef struct {
    void *(*new_decoder)(void);
    size_t (*free_decoder)(void *);
    size_t (*decode)(void *, void *, size_t, const void *, size_t);
    unsigned long long (*content_size)(const void *, size_t);
    size_t (*frame_size)(const void *, size_t);
    unsigned (*is_error)(size_t);
    void *(*new_encoder)(void);
    size_t (*free_encoder)(void *);
    size_t (*set_parameter)(void *, int, int);
    size_t (*encode)(void *, void *, size_t, const void *, size_t);
} Zstd;

typedef struct {
    int (*decode)(const void *, void *, size_t, int);
    int (*encode)(int, int, size_t, size_t, const void *, void *, size_t, const char *, size_t, int);
} Blosc;

typedef struct {
    enum codec_kind kind;
    Zstd zstd;
    Blosc blosc;
    long level;      /* of both */
    long checksum;   /* zstd: whether frames end with one */
    long shuffle, typesize, blocksize; /* blosc */
    char compressor[32];               /* blosc */
} Codec;

/* ---- Scratch memory ---------------------------------------------------------------------------------------- */

/* What one thread needs; taken and given back with Python's lock held, so that no other lock is needed. */
typedef struct Scratch {
    struct Scratch *next;
    char *piece;
    char *encoded;
    size_t encoded_size;
    char *chunk;
    size_t chunk_size;
    void *decoder, *encoder; /* of zstd, for the library that these functions are of */
    size_t (*free_decoder)(void *);
    size_t (*free_encoder)(void *);
} Scratch;

static Scratch *idle;
static int idle_count;

static void free_scratch(Scratch *scratch)
{
    if (scratch->decoder) scratch->free_decoder(scratch->decoder);
    if (scratch->encoder) scratch->free_encoder(scratch->encoder);
    free(scratch->piece);
    free(scratch->encoded);
    free(scratch->chunk);
    free(scratch);
}

/* With Python's lock held. */
static Scratch *take_scratch(Scratch **own)
{
    Scratch **list = *own ? own : &idle;
    Scratch *scratch = *list;
    if (scratch) {
        *list = scratch->next;
        if (list == &idle) idle_count--;
        return scratch;
    }
    scratch = calloc(1, sizeof *scratch);
    if (scratch && !(scratch->piece = malloc(PIECE))) {
        free(scratch);
        scratch = NULL;
    }
    return scratch;
}

/* With Python's lock held: keep for others what is small. */
static void retire_scratch(Scratch *scratch)
{
    if (idle_count >= MOST_IDLE) {
        free_scratch(scratch);
        return;
    }
    if (scratch->encoded_size > KEPT) {
        free(scratch->encoded);
        scratch->encoded = NULL;
        scratch->encoded_size = 0;
    }
    if (scratch->chunk_size > KEPT) {
        free(scratch->chunk);
        scratch->chunk = NULL;
        scratch->chunk_size = 0;
    }
    scratch->next = idle;
    idle = scratch;
    idle_count++;
}

/* Memory of at least `wanted` bytes whose content may be lost. */
static char *room(char **memory, size_t *size, size_t wanted)
{
    if (*size < wanted || !*memory) {
        free(*memory);
        *size = 0;
        *memory = malloc(wanted ? wanted : 1);
        if (*memory) *size = wanted;
    }
    return *memory;
}

/* ---- Transfers --------------------------------------------------------------------------------------------- */

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

/* ---- Files ------------------------------------------------------------------------------------------------- */

static int read_at(int file, char *to, size_t size, size_t offset)
{
    while (size) {
        ssize_t found = pread(file, to, size, (off_t)offset);
        if (found <= 0) return LEFT;
        to += found;
        offset += (size_t)found;
        size -= (size_t)found;
    }
    return DONE;
}

static int write_at(int file, const char *from, size_t size, size_t offset)
{
    while (size) {
        ssize_t written = pwrite(file, from, size, (off_t)offset);
        if (written <= 0) return LEFT;
        from += written;
        offset += (size_t)written;
        size -= (size_t)written;
    }
    return DONE;
}

/* Rows of a box that are one behind the other in the file, many in one call of the system. */
static int read_rows(const Box *box, int first, char *array, int file, size_t offset)
{
    struct iovec rows[MOST_ROWS];
    Py_ssize_t at[MOST_DIMENSIONS] = {0};
    int last = box->ndim - 1;
    size_t run = (size_t)box->n[last] * box->item;
    for (int d = last - 1; d >= first;) {
        int count = 0;
        do {
            rows[count].iov_base = array;
            rows[count++].iov_len = run;
            for (d = last - 1; d >= first; d--) {
                array += box->array[d];
                if (++at[d] < box->n[d]) break;
                array -= box->n[d] * box->array[d];
                at[d] = 0;
            }
        } while (d >= first && count < MOST_ROWS);
        ssize_t wanted = (ssize_t)run * count;
        if (preadv(file, rows, count, (off_t)offset) != wanted) return LEFT;
        offset += (size_t)wanted;
    }
    return DONE;
}

/* Whether the elements of a box are one run of bytes in the chunk, of the dimensions from `first` on. */
static int is_dense(const Box *box, int first)
{
    Py_ssize_t bytes = (Py_ssize_t)box->item;
    for (int d = box->ndim - 1; d >= first; bytes *= box->n[d--])
        if (box->chunk[d] != bytes) return 0;
    return 1;
}

/* A box between the array and a file that holds the chunk as it is, in pieces that stay in the processor's cache. */
static int move_plain(const Box *box, int d, char *array, int file, size_t offset, char *piece, int reading)
{
    int runs = has_runs(box);
    int rows = box->ndim - 1 - runs; /* the last dimension above the runs, -1 where there is none */
    if (d == box->ndim || (runs && d == box->ndim - 1)) {
        size_t size = span(box, d);
        return reading ? read_at(file, array, size, offset) : write_at(file, array, size, offset);
    }
    /* Written so, each row costs the system as much as a page: 1.3 to 1.7 x as slow as gathering them. */
    if (reading && runs && (size_t)box->n[rows + 1] * box->item >= LONG_ROW && is_dense(box, d))
        return read_rows(box, d, array, file, offset);
    size_t whole = span(box, d), rest = span(box, d + 1);
    Py_ssize_t stride = box->chunk[d], n = box->n[d], step = 1;
    if (whole <= PIECE)
        step = n;
    else if (rest <= PIECE)
        step = (Py_ssize_t)((PIECE - rest) / (size_t)stride) + 1;
    int direct = rest > PIECE || (runs && d == rows && rest >= DIRECT);
    if (direct || (step == 1 && runs && d == rows)) {
        for (Py_ssize_t i = 0; i < n; i++)
            if (move_plain(box, d + 1, array + i * box->array[d], file, offset + (size_t)(i * stride), piece, reading))
                return LEFT;
        return DONE;
    }
    Box part = *box;
    for (Py_ssize_t i = 0; i < n; i += step) {
        part.n[d] = n - i < step ? n - i : step;
        size_t size = (size_t)((part.n[d] - 1) * stride) + rest, at = offset + (size_t)(i * stride);
        char *rows_of = array + i * box->array[d];
        if (reading) {
            if (read_at(file, piece, size, at)) return LEFT;
            copy_box(&part, d, rows_of, piece, 1);
        } else {
            copy_box(&part, d, rows_of, piece, 0);
            if (write_at(file, piece, size, at)) return LEFT;
        }
    }
    return DONE;
}

static uint32_t little32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int decode(const Transfer *t, Scratch *s, char *to, const char *from, size_t size)
{
    const Codec *codec = &t->codec;
    if (codec->kind == ZSTD) {
        const Zstd *zstd = &codec->zstd;
        if (s->free_decoder != zstd->free_decoder) {
            if (s->decoder) s->free_decoder(s->decoder);
            s->decoder = zstd->new_decoder();
            s->free_decoder = zstd->free_decoder;
        }
        if (!s->decoder || zstd->content_size(from, size) != t->nbytes || zstd->frame_size(from, size) != size)
            return LEFT;
        return zstd->decode(s->decoder, to, t->nbytes, from, size) == t->nbytes ? DONE : LEFT;
    }
    if (size < 16 || little32(from + 12) != size || little32(from + 4) != t->nbytes || size > INT_MAX) return LEFT;
    return codec->blosc.decode(from, to, t->nbytes, 1) == (int)t->nbytes ? DONE : LEFT;
}

/* Bytes that an encoded chunk has at most. */
static size_t most_encoded(const Transfer *t)
{
    /* ZSTD_compressBound is less than this; Blosc adds its header of 16 bytes. */
    return t->nbytes + (t->nbytes >> 8) + 512;
}

/* Size of the encoded chunk, or 0. */
static size_t encode(const Transfer *t, Scratch *s, char *to, size_t room_for, const char *from)
{
    const Codec *codec = &t->codec;
    if (codec->kind == ZSTD) {
        const Zstd *zstd = &codec->zstd;
        if (s->free_encoder != zstd->free_encoder) {
            if (s->encoder) s->free_encoder(s->encoder);
            s->encoder = zstd->new_encoder();
            s->free_encoder = zstd->free_encoder;
        }
        if (!s->encoder || zstd->is_error(zstd->set_parameter(s->encoder, ZSTD_LEVEL, (int)codec->level)) ||
            zstd->is_error(zstd->set_parameter(s->encoder, ZSTD_CHECKSUM, (int)codec->checksum)))
            return 0;
        size_t size = zstd->encode(s->encoder, to, room_for, from, t->nbytes);
        return zstd->is_error(size) ? 0 : size;
    }
    if (t->nbytes > INT_MAX - 16) return 0;
    int size = codec->blosc.encode((int)codec->level, (int)codec->shuffle, (size_t)codec->typesize, t->nbytes, from, to,
                                   room_for, codec->compressor, (size_t)codec->blocksize, 1);
    return size > 0 ? (size_t)size : 0;
}

/* The share of a chunk whose stored bytes are `size` bytes of `file` from `offset` on. */
static int read_stored(const Transfer *t, Scratch *s, Part *part, int file, size_t offset, size_t size)
{
    if (t->codec.kind == PLAIN) {
        if (size != t->nbytes) return LEFT;
        return move_plain(&part->box, 0, part->array, file, offset + part->offset, s->piece, 1);
    }
    if (size > 2 * t->nbytes + PIECE || !room(&s->encoded, &s->encoded_size, size)) return LEFT;
    if (read_at(file, s->encoded, size, offset)) return LEFT;
    int in_place = part->complete && !part->padded && (part->box.ndim == 0 || (part->box.ndim == 1 && has_runs(&part->box)));
    if (in_place) return decode(t, s, part->array, s->encoded, size);
    if (!room(&s->chunk, &s->chunk_size, t->nbytes) || decode(t, s, s->chunk, s->encoded, size)) return LEFT;
    copy_box(&part->box, 0, part->array, s->chunk + part->offset, 1);
    return DONE;
}

/* All of a chunk as one run of bytes: in the array itself where it is that, or gathered. */
static char *whole_chunk(const Transfer *t, Scratch *s, Part *part)
{
    const Box *box = &part->box;
    if (!part->padded && (box->ndim == 0 || (box->ndim == 1 && has_runs(box)))) return part->array;
    if (!room(&s->chunk, &s->chunk_size, t->nbytes)) return NULL;
    if (part->padded) repeat(s->chunk, t->fill, t->item, t->nbytes);
    copy_box(box, 0, part->array, s->chunk, 0);
    return s->chunk;
}

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

/* ---- Shards ------------------------------------------------------------------------------------------------ */

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

/* ---- Python ------------------------------------------------------------------------------------------------ */

static int check_range(const Transfer *t, Py_ssize_t begin, Py_ssize_t end)
{
    if (0 <= begin && begin <= end && end <= t->count) return 0;
    PyErr_Format(PyExc_IndexError, "got chunks %zd to %zd, expected some of %zd", begin, end, t->count);
    return -1;
}

/* Methods of locks, and what they are called with. All is made before the first lock is taken: making an object can
   run a finaliser, which may use arrays, and must not while this thread has locks that nobody knows of. */
typedef struct {
    Py_ssize_t count;
    PyObject **acquire, **release;
    PyObject *wait, *no_wait;
    char *taken;
} Locks;

static void forget_locks(Locks *locks)
{
    for (Py_ssize_t i = 0; i < locks->count; i++) {
        if (locks->acquire) Py_XDECREF(locks->acquire[i]);
        if (locks->release) Py_XDECREF(locks->release[i]);
    }
    Py_XDECREF(locks->wait);
    Py_XDECREF(locks->no_wait);
    free(locks->acquire);
    free(locks->release);
    free(locks->taken);
}

static int know_locks(Locks *locks, PyObject *given)
{
    *locks = (Locks){.count = PyTuple_Size(given)};
    locks->acquire = calloc((size_t)locks->count + 1, sizeof *locks->acquire);
    locks->release = calloc((size_t)locks->count + 1, sizeof *locks->release);
    locks->taken = calloc((size_t)locks->count + 1, 1);
    locks->wait = Py_BuildValue("(O)", Py_True);
    locks->no_wait = Py_BuildValue("(O)", Py_False);
    int failed = !locks->acquire || !locks->release || !locks->taken || !locks->wait || !locks->no_wait;
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < locks->count && !failed; i++) {
        PyObject *lock = PyTuple_GetItem(given, i);
        locks->acquire[i] = PyObject_GetAttrString(lock, "acquire");
        locks->release[i] = PyObject_GetAttrString(lock, "release");
        failed = !locks->acquire[i] || !locks->release[i];
    }
    if (failed) forget_locks(locks);
    return failed ? -1 : 0;
}

/* Take a lock: 1 or 0 for whether that was done, -1 for an exception. */
static int take_lock(Locks *locks, Py_ssize_t i, PyObject *how)
{
    PyObject *done = PyObject_Call(locks->acquire[i], how, NULL);
    int result = done ? PyObject_IsTrue(done) : -1;
    Py_XDECREF(done);
    locks->taken[i] = result == 1;
    return result;
}

/* Release the locks that are taken, also while an exception is on its way. */
static void release_locks(Locks *locks)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < locks->count; i++) {
        if (!locks->taken[i]) continue;
        PyObject *none = PyObject_CallNoArgs(locks->release[i]);
        if (!none) PyErr_WriteUnraisable(locks->release[i]);
        Py_XDECREF(none);
        locks->taken[i] = 0;
    }
    PyErr_Restore(type, value, traceback);
}

/* Take all locks, or none of them. Here no interrupt can come between one step and the next. None is waited for while
   others are held: whoever holds it may wait for one of those. */
static int take_locks(Locks *locks)
{
    for (Py_ssize_t waited_for = 0, i = 0; i < locks->count;) {
        if (take_lock(locks, waited_for, locks->wait) < 0) return -1;
        for (i = 0; i < locks->count; i++) {
            int got = locks->taken[i] ? 1 : take_lock(locks, i, locks->no_wait);
            if (got == 1) continue;
            release_locks(locks);
            if (got < 0) return -1;
            waited_for = i;
            break;
        }
    }
    return 0;
}

/* For each chunk whether it is left; to be freed. */
static char *move_chunks(Transfer *t, Py_ssize_t begin, Py_ssize_t end, int reading)
{
    char *left = malloc((size_t)(end - begin) + 1);
    Scratch *scratch = left ? take_scratch(&t->scratch) : NULL;
    if (!scratch) {
        free(left);
        PyErr_NoMemory();
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    Directory directory;
    directory.known = 0;
    int file = t->has_index && t->root ? open_shard(t) : t->file;
    for (Py_ssize_t number = begin; number < end; number++) {
        Part part;
        locate(t, number, &part);
        int outcome = DONE;
        if (part.empty)
            outcome = DONE;
        else if (t->has_index && file < 0)
            outcome = LEFT;
        else if (t->has_index)
            outcome = reading ? read_inner(t, scratch, &part, file) : write_inner(t, scratch, &part);
        else if (reading)
            outcome = read_file(t, scratch, &directory, &part);
        else
            outcome = write_file(t, scratch, &directory, &part);
        left[number - begin] = (char)outcome;
    }
    close_directory(&directory);
    if (file >= 0 && file != t->file) close(file);
    Py_END_ALLOW_THREADS
    scratch->next = t->scratch;
    t->scratch = scratch;
    return left;
}

/* The numbers of the chunks that are left, of flags that are freed. */
static PyObject *numbers_of(char *left, Py_ssize_t begin, Py_ssize_t end)
{
    if (!left) return NULL;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < end - begin; i++) count += left[i];
    PyObject *numbers = PyList_New(count);
    for (Py_ssize_t number = begin, at = 0; numbers && number < end; number++) {
        if (!left[number - begin]) continue;
        PyObject *value = PyLong_FromSsize_t(number);
        if (!value || PyList_SetItem(numbers, at++, value)) Py_CLEAR(numbers);
    }
    free(left);
    return numbers;
}

static PyObject *transfer_read(PyObject *self, PyObject *args)
{
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end)) return NULL;
    if (!((Transfer *)self)->writable) {
        PyErr_SetString(PyExc_ValueError, "read: expected an array that was given as writable");
        return NULL;
    }
    if (check_range((Transfer *)self, begin, end)) return NULL;
    return numbers_of(move_chunks((Transfer *)self, begin, end, 1), begin, end);
}

static PyObject *transfer_write(PyObject *self, PyObject *args)
{
    Py_ssize_t begin, end;
    PyObject *given;
    Locks locks;
    if (!PyArg_ParseTuple(args, "nnO!", &begin, &end, &PyTuple_Type, &given)) return NULL;
    if (check_range((Transfer *)self, begin, end) || know_locks(&locks, given)) return NULL;
    char *left = NULL;
    if (take_locks(&locks) == 0) {
        left = move_chunks((Transfer *)self, begin, end, 0);
        release_locks(&locks);
    }
    forget_locks(&locks);
    return numbers_of(left, begin, end);
}

static PyObject *transfer_filled(PyObject *self, PyObject *args)
{
    Transfer *t = (Transfer *)self;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end) || check_range(t, begin, end)) return NULL;
    char *found = malloc((size_t)(end - begin) + 1);
    if (!found) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t number = begin; number < end; number++) {
        Part part;
        locate(t, number, &part);
        found[number - begin] = !part.empty && box_is_filled(&part.box, part.array, t->fill);
    }
    Py_END_ALLOW_THREADS
    PyObject *result = PyBytes_FromStringAndSize(found, end - begin);
    free(found);
    return result;
}

static PyObject *transfer_encode(PyObject *self, PyObject *args)
{
    Transfer *t = (Transfer *)self;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end) || check_range(t, begin, end)) return NULL;
    if (t->codec.kind == PLAIN) {
        PyErr_SetString(PyExc_ValueError, "codec: got None, expected one to encode with");
        return NULL;
    }
    size_t count = (size_t)(end - begin), used = 0, most = most_encoded(t);
    int64_t *sizes = malloc((count + 1) * sizeof *sizes);
    Scratch *scratch = take_scratch(&t->scratch);
    int failed = !sizes || !scratch || !room(&scratch->encoded, &scratch->encoded_size, count * most);
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < count && !failed; i++) {
        Part part;
        locate(t, begin + (Py_ssize_t)i, &part);
        sizes[i] = -1;
        if (part.empty || (t->elide && box_is_filled(&part.box, part.array, t->fill))) continue;
        char *chunk = part.complete ? whole_chunk(t, scratch, &part) : NULL;
        size_t size = chunk ? encode(t, scratch, scratch->encoded + used, most, chunk) : 0;
        failed = size == 0;
        used += size;
        sizes[i] = (int64_t)size;
    }
    Py_END_ALLOW_THREADS
    PyObject *result = failed ? Py_NewRef(Py_None)
                              : Py_BuildValue("y#y#", (char *)sizes, (Py_ssize_t)(count * sizeof *sizes),
                                              scratch->encoded, (Py_ssize_t)used);
    if (scratch) {
        scratch->next = t->scratch;
        t->scratch = scratch;
    }
    free(sizes);
    return result;
}

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

/* `codec`: None, ("zstd", addresses, level, checksum) or
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
    } else {
        PyErr_Format(PyExc_ValueError, "codec: got '%s', expected 'zstd' or 'blosc'", name);
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
        while (d < t->ndim && (seen >> d & 1 || t->axes[d].chunk == 1 || (size_t)t->axes[d].chunk_stride != stride)) d++;
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
        if (!is_tuple("files", files) || !PyArg_ParseTuple(files, "yyyy", &root, &inside, &template, &partial)) goto failed;
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
        if (!is_tuple("shard", shard) || !PyArg_ParseTuple(shard, "iOny#", &t->file, &index, &limit, &version, &version_size)) goto failed;
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
            PyErr_SetString(PyExc_ValueError, "shard: expected an index of uint64 in the shape of its chunks, and 2, and a limit");
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

static void transfer_dealloc(PyObject *self)
{
    Transfer *t = (Transfer *)self;
    PyTypeObject *type = Py_TYPE(self);
    while (t->scratch) {
        Scratch *scratch = t->scratch;
        t->scratch = scratch->next;
        retire_scratch(scratch);
    }
    if (t->has_array) PyBuffer_Release(&t->array);
    if (t->has_index) PyBuffer_Release(&t->index);
    free(t->fill);
    free(t->root);
    free(t->inside);
    free(t->template);
    free(t->partial);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef transfer_methods[] = {
    {"read", transfer_read, METH_VARARGS, "read(begin, end): fill the array from these chunks; the numbers not done."},
    {"write", transfer_write, METH_VARARGS, "write(begin, end, locks): store these chunks while holding the locks; the numbers not done."},
    {"filled", transfer_filled, METH_VARARGS, "filled(begin, end): for each chunk whether it is the fill value."},
    {"encode", transfer_encode, METH_VARARGS,
     "encode(begin, end): the sizes of these chunks, encoded, as int64, -1 where one is left out, and their bytes "
     "one behind the other; None where that failed."},
    {NULL, NULL, 0, NULL},
};

static Py_ssize_t transfer_length(PyObject *self) { return ((Transfer *)self)->count; }

static PyType_Slot transfer_slots[] = {
    {Py_sq_length, transfer_length},
    {Py_tp_new, transfer_new},
    {Py_tp_dealloc, transfer_dealloc},
    {Py_tp_methods, transfer_methods},
    {Py_tp_doc, "The chunks of one selection, between files or a shard and an array."},
    {0, NULL},
};

static PyType_Spec transfer_spec = {
    .name = "fastzarr._kernel.Transfer",
    .basicsize = sizeof(Transfer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = transfer_slots,
};

static int execute(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &transfer_spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Transfer", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_kernel",
    .m_doc = "Chunks between files and the memory of an array.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
