/*
 * shapes.h - the arrays of a record in their canonical plain order.
 */
#ifndef DLBENCH_SHAPES_H
#define DLBENCH_SHAPES_H

#include "backend.h"

enum { BENCH_WEIGHTS = 16 }; /* arrays of one role, at the most */

/*
 * The shape of an array. Gradients are shaped like what they are the gradient of. index: the
 * operand of an input, the array of an optimizer's weight.
 * Returns false where the record has no such array.
 *
 * Convolution: input [N, C, ...], weight [out, in, window] or [groups, out, in, window] (out and in
 * of one group), bias [out], output [N, out, ...]. Dense: input [m, k], weight [n, k], bias [n],
 * output [m, n]. bmm: inputs [b, m, k] and [b, k, n], output [b, m, n]. Norms: weight, bias
 * [channels] or [columns]. Concat: the output is [rows, columns], the operands are parts of equal
 * size along the rows where there are enough, else along the columns; the last takes the rest.
 * cross_entropy: output [1], mask [rows], the labels. embedding: weight [k, n], output [m, n], mask
 * [m], the ids. Attention: inputs [batch x heads, length, head size]. upsample: images with planes
 * that are squares as squares, else of height 1. Recurrent: input [length, batch, in], output
 * [length, batch, directions x hidden]; of layer l weight 2 l [1, directions, in, gates, hidden],
 * weight 2 l + 1 the same for its own output, bias l [1, directions, gates, hidden], where a gru
 * has a fourth: the gates stand in the order i f g o, and z r n and the bias inside of n.
 * optimizer_update: `tensors` weights of equal size, the first takes the rest.
 */
bool bench_role_shape(const struct dlt_record *record, enum bench_role role, int index,
                      struct bench_shape *shape);

/* Product of the dimensions. */
size_t bench_shape_count(const struct bench_shape *shape);

/* Operands that the forward pass reads. */
int bench_operands(const struct dlt_record *record);

/* The dimension along which a concat record joins: 0 or 1. */
int bench_concat_axis(const struct dlt_record *record);

#endif
