/*
 * scatter.h - operands that an elementwise kernel reads across their memory.
 *
 * Kernels walk in the memory order of what they write, which is that of an operand of full size. A
 * second operand seen through a permutation of its last dimension has its neighbours elsewhere, so
 * that each of its elements is fetched with all that memory hands out at once. T5's bias by
 * distance is such an operand in each layer: looked up as length x length x heads, seen as heads x
 * length x length.
 */
#ifndef DLT_LOWER_SCATTER_H
#define DLT_LOWER_SCATTER_H

#include "graph/graph.h"

/* What a memory hands out at once: L2 fetches 64 bytes for a miss (NVIDIA, CUDA C++ Programming
 * Guide, cudaLimitMaxL2FetchGranularity), and CPUs have lines of 64. */
enum { DLT_FETCH_BYTES = 64 };

/* Elements that a node reads in that way, each time it reads one; *operand: elements of the tensor
 * that they lie in, which a cache may hold. 0 for a node without such an operand. */
double dlt_scattered(const struct dlt_graph *graph, size_t node, double *operand);

#endif
