/* Scratch memory. */

#ifndef FASTZARR_SCRATCH_H
#define FASTZARR_SCRATCH_H

#include <stdlib.h>

enum { PIECE = 1 << 18, KEPT = 1 << 21, MOST_IDLE = 32 };

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

#endif
