/* checksum.h - XXH64 (Yann Collet's xxHash, 64 bits): fast enough to check what is used at once. */
#ifndef DLT_PREDICT_CHECKSUM_H
#define DLT_PREDICT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Guards against damage, not against intent. Little-endian machines. */
uint64_t dlt_checksum(const void *data, size_t size, uint64_t seed);

#endif
