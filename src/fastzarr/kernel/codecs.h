/* Codecs of other libraries: their functions, and what they are called with. */

#ifndef FASTZARR_CODECS_H
#define FASTZARR_CODECS_H

#include <stddef.h>

enum codec_kind { PLAIN = 0, ZSTD = 1, BLOSC = 2, LZ4 = 3 };

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
    int (*decode)(const char *, char *, int, int);
    int (*encode)(const char *, char *, int, int);
    int (*encode_hc)(const char *, char *, int, int, int);
} Lz4;

typedef struct {
    enum codec_kind kind;
    Zstd zstd;
    Blosc blosc;
    Lz4 lz4;
    long level;      /* of all; LZ4: 0 for the fast encoder */
    long sized;      /* lz4: whether a block comes after its decoded size, 4 bytes */
    long checksum;   /* zstd: whether frames end with one */
    long shuffle, typesize, blocksize; /* blosc */
    char compressor[32];               /* blosc */
} Codec;

#endif
