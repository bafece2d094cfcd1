/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one and of two numbers, by ONNX's names. */
#include "graph/onnx_functions.h"

#include <math.h>
#include <string.h>

/* Signed overflow wraps; what comes out is only a shape, and shapes are checked. */
static int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static bool divides(int64_t a, int64_t b)
{
    return b != 0 && !(a == INT64_MIN && b == -1);
}
static int64_t int_div(int64_t a, int64_t b)
{
    return divides(a, b) ? a / b : 0;
}
static int64_t int_mod(int64_t a, int64_t b)
{
    int64_t rest = divides(a, b) ? a % b : 0;

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t int_pow(int64_t a, int64_t b)
{
    int64_t power = 1;

    for (; b > 0 && b < 64; b--)
        power = wrap_mul(power, a);
    return power;
}
static int64_t int_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t int_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static int64_t int_and(int64_t a, int64_t b)
{
    return a && b;
}
static int64_t int_or(int64_t a, int64_t b)
{
    return a || b;
}
static int64_t int_xor(int64_t a, int64_t b)
{
    return !a != !b;
}
static int64_t int_equal(int64_t a, int64_t b)
{
    return a == b;
}
static int64_t int_less(int64_t a, int64_t b)
{
    return a < b;
}
static int64_t int_greater(int64_t a, int64_t b)
{
    return a > b;
}
static int64_t int_less_equal(int64_t a, int64_t b)
{
    return a <= b;
}
static int64_t int_greater_equal(int64_t a, int64_t b)
{
    return a >= b;
}
static double real_add(double a, double b)
{
    return a + b;
}
static double real_sub(double a, double b)
{
    return a - b;
}
static double real_mul(double a, double b)
{
    return a * b;
}
static double real_div(double a, double b)
{
    return a / b;
}

static const struct dlt_onnx_binary binaries[] = {
    {"Add", wrap_add, real_add, false},
    {"Sub", wrap_sub, real_sub, false},
    {"Mul", wrap_mul, real_mul, false},
    {"Div", int_div, real_div, false},
    {"Mod", int_mod, fmod, false},
    {"Pow", int_pow, pow, false},
    {"Min", int_min, fmin, false},
    {"Max", int_max, fmax, false},
    {"And", int_and, NULL, true},
    {"Or", int_or, NULL, true},
    {"Xor", int_xor, NULL, true},
    {"Equal", int_equal, NULL, true},
    {"Less", int_less, NULL, true},
    {"Greater", int_greater, NULL, true},
    {"LessOrEqual", int_less_equal, NULL, true},
    {"GreaterOrEqual", int_greater_equal, NULL, true},
};

static double real_neg(double a)
{
    return -a;
}
static double real_reciprocal(double a)
{
    return 1 / a;
}
static double real_not(double a)
{
    return a == 0;
}
static double real_same(double a)
{
    return a;
}
static double real_sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}
static double real_sign(double a)
{
    return a > 0 ? 1 : a < 0 ? -1 : 0;
}
static double real_relu(double a)
{
    return a > 0 ? a : 0;
}

static const struct dlt_onnx_unary unaries[] = {
    {"Neg", real_neg, false},
    {"Abs", fabs, false},
    {"Not", real_not, false},
    {"Floor", floor, false},
    {"Ceil", ceil, false},
    {"Round", rint, false},
    {"Sqrt", sqrt, false},
    {"Exp", exp, false},
    {"Log", log, false},
    {"Sin", sin, false},
    {"Cos", cos, false},
    {"Tanh", tanh, false},
    {"Erf", erf, false},
    {"Sign", real_sign, false},
    {"Relu", real_relu, false},
    {"Reciprocal", real_reciprocal, false},
    {"Sigmoid", real_sigmoid, false},
    {"Cast", real_same, true},
};

enum { BINARIES = sizeof binaries / sizeof *binaries, UNARIES = sizeof unaries / sizeof *unaries };

const struct dlt_onnx_binary *dlt_onnx_find_binary(const char *op)
{
    for (size_t i = 0; i < BINARIES; i++)
        if (strcmp(binaries[i].op, op) == 0)
            return &binaries[i];
    return NULL;
}

const struct dlt_onnx_unary *dlt_onnx_find_unary(const char *op)
{
    for (size_t i = 0; i < UNARIES; i++)
        if (strcmp(unaries[i].op, op) == 0)
            return &unaries[i];
    return NULL;
}
