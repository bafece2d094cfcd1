/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/checksum.h"

#include <string.h>

static const uint64_t prime1 = 0x9E3779B185EBCA87ULL, prime2 = 0xC2B2AE3D27D4EB4FULL,
                      prime3 = 0x165667B19E3779F9ULL, prime4 = 0x85EBCA77C2B2AE63ULL,
                      prime5 = 0x27D4EB2F165667C5ULL;

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t read64(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * prime2, 31) * prime1;
}

static uint64_t tail(uint64_t hash, const unsigned char *p, size_t left)
{
    uint32_t word;

    for (; left >= 8; p += 8, left -= 8)
        hash = rotate(hash ^ mix(0, read64(p)), 27) * prime1 + prime4;
    if (left >= 4) {
        memcpy(&word, p, sizeof word);
        hash = rotate(hash ^ word * prime1, 23) * prime2 + prime3;
        p += 4;
        left -= 4;
    }
    for (; left; p++, left--)
        hash = rotate(hash ^ *p * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

uint64_t dlt_checksum(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t lane[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    uint64_t hash = seed + prime5;
    size_t left = size;

    if (size >= 32) {
        for (; left >= 32; p += 32, left -= 32)
            for (int i = 0; i < 4; i++)
                lane[i] = mix(lane[i], read64(p + 8 * i));
        hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
        for (int i = 0; i < 4; i++)
            hash = (hash ^ mix(0, lane[i])) * prime1 + prime4;
    }
    return tail(hash + size, p, left);
}
