/* Boxes of an array to stored bytes and back. */

#ifndef FASTZARR_STORED_H
#define FASTZARR_STORED_H

#include <limits.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transfer.h"

enum { DIRECT = 1 << 15, LONG_ROW = 512, MOST_ROWS = 512, SIZE_OF_LZ4 = 4 };

enum outcome { DONE = 0, LEFT = 1 };

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
    if (codec->kind == LZ4) {
        size_t head = codec->sized ? SIZE_OF_LZ4 : 0;
        if (size <= head || size > INT_MAX || t->nbytes > INT_MAX || (head && little32(from) != t->nbytes)) return LEFT;
        int found = codec->lz4.decode(from + head, to, (int)(size - head), (int)t->nbytes);
        return found == (int)t->nbytes ? DONE : LEFT;
    }
    if (size < 16 || little32(from + 12) != size || little32(from + 4) != t->nbytes || size > INT_MAX) return LEFT;
    return codec->blosc.decode(from, to, t->nbytes, 1) == (int)t->nbytes ? DONE : LEFT;
}

/* Bytes that an encoded chunk has at most. */
static size_t most_encoded(const Transfer *t)
{
    /* ZSTD_compressBound and LZ4_compressBound are less than this; Blosc adds its header of 16 bytes. */
    return t->nbytes + t->nbytes / 255 + 512;
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
    if (codec->kind == LZ4) {
        size_t head = codec->sized ? SIZE_OF_LZ4 : 0;
        if (room_for > INT_MAX) return 0;
        for (size_t i = 0; i < head; i++) to[i] = (char)(t->nbytes >> 8 * i);
        int most = (int)(room_for - head), nbytes = (int)t->nbytes;
        int size = codec->level ? codec->lz4.encode_hc(from, to + head, nbytes, most, (int)codec->level)
                                : codec->lz4.encode(from, to + head, nbytes, most);
        return size > 0 ? (size_t)size + head : 0;
    }
    /* With more room than this, Blosc would not store what it can't make smaller as it is. */
    if (t->nbytes > INT_MAX - 16 || room_for < t->nbytes + 16) return 0;
    int size = codec->blosc.encode((int)codec->level, (int)codec->shuffle, (size_t)codec->typesize, t->nbytes, from, to,
                                   t->nbytes + 16, codec->compressor, (size_t)codec->blocksize, 1);
    return size > 0 ? (size_t)size : 0;
}

/* Whether a complete chunk is one run of bytes in the array too. */
static int is_whole_run(const Part *part)
{
    return !part->padded && (part->box.ndim == 0 || (part->box.ndim == 1 && has_runs(&part->box)));
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
    if (part->complete && is_whole_run(part)) return decode(t, s, part->array, s->encoded, size);
    if (!room(&s->chunk, &s->chunk_size, t->nbytes) || decode(t, s, s->chunk, s->encoded, size)) return LEFT;
    copy_box(&part->box, 0, part->array, s->chunk + part->offset, 1);
    return DONE;
}

/* All of a chunk as one run of bytes: in the array itself where it is that, or gathered. */
static char *whole_chunk(const Transfer *t, Scratch *s, Part *part)
{
    const Box *box = &part->box;
    if (is_whole_run(part)) return part->array;
    if (!room(&s->chunk, &s->chunk_size, t->nbytes)) return NULL;
    if (part->padded) repeat(s->chunk, t->fill, t->item, t->nbytes);
    copy_box(box, 0, part->array, s->chunk, 0);
    return s->chunk;
}

#endif
