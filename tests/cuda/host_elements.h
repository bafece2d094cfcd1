/* host_elements.h - elements of any type that the device on the host computes with. */
#ifndef DLT_TESTS_CUDA_HOST_ELEMENTS_H
#define DLT_TESTS_CUDA_HOST_ELEMENTS_H

#include <cudnn.h>
#include <stdint.h>

#include "half.h"

static inline double get(const void *array, cudnnDataType_t type, int64_t i)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return (double)bench_half_value(((const unsigned short *)array)[i]);
    case CUDNN_DATA_BFLOAT16:
        return (double)bench_bfloat_value(((const unsigned short *)array)[i]);
    default:
        return (double)((const float *)array)[i];
    }
}

static inline void put(void *array, cudnnDataType_t type, int64_t i, double value)
{
    unsigned bits = bench_bits_of((float)value);

    if (type == CUDNN_DATA_HALF)
        ((unsigned short *)array)[i] = bench_half_bits((float)value);
    else if (type == CUDNN_DATA_BFLOAT16)
        ((unsigned short *)array)[i] =
            (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    else
        ((float *)array)[i] = (float)value;
}

#endif
