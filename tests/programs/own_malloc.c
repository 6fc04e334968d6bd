/* Preloaded: an allocator of its own, which takes all memory from one large area and never gives any back. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Each piece has its length in front of it. */
#define HEAD 64
#define AREA ((size_t)16 << 30)

static char *area;
static size_t used;

static void *piece(size_t alignment, size_t bytes)
{
    char *base = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
    if (!base) {
        char *made = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) return NULL;
        if (__atomic_compare_exchange_n(&area, &base, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) base = made;
        else munmap(made, AREA);
    }
    if (bytes > AREA || alignment > AREA) return NULL;
    size_t room = (bytes + alignment + 2 * HEAD) & ~(size_t)(HEAD - 1);
    size_t start = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    if (start + room > AREA) return NULL;
    uintptr_t place = ((uintptr_t)base + start + HEAD + alignment - 1) & ~(uintptr_t)(alignment - 1);
    *(size_t *)(place - sizeof(size_t)) = bytes;
    return (void *)place;
}

void *malloc(size_t bytes)
{
    void *place = piece(16, bytes);
    if (!place) errno = ENOMEM;
    return place;
}

void *calloc(size_t number, size_t bytes)
{
    return bytes && number > AREA / bytes ? NULL : malloc(number * bytes);
}

void *realloc(void *old, size_t bytes)
{
    void *place = malloc(bytes);
    if (place && old) {
        size_t before = *(size_t *)((uintptr_t)old - sizeof(size_t));
        memcpy(place, old, before < bytes ? before : bytes);
    }
    return place;
}

void free(void *memory) { (void)memory; }

void *aligned_alloc(size_t alignment, size_t bytes) { return piece(alignment < 16 ? 16 : alignment, bytes); }

void *memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }

void *valloc(size_t bytes) { return aligned_alloc(4096, bytes); }

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    *place = aligned_alloc(alignment, bytes);
    return *place ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *memory)
{
    return memory ? *(size_t *)((uintptr_t)memory - sizeof(size_t)) : 0;
}
