/*
 * functions.h - elementwise functions and their derivatives, as torch defines them.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * value(x): the function. slope(x): its derivative. arguments.h lists the names.
 */
#ifndef DLBENCH_CUDA_FUNCTIONS_H
#define DLBENCH_CUDA_FUNCTIONS_H

#define DEVICE static __device__ inline float

__device__ inline float logistic(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

struct function_relu {
    DEVICE value(float x)
    {
        return x > 0 ? x : 0;
    }
    DEVICE slope(float x)
    {
        return x > 0 ? 1.0f : 0.0f;
    }
};

struct function_relu6 {
    DEVICE value(float x)
    {
        return fminf(fmaxf(x, 0), 6);
    }
    DEVICE slope(float x)
    {
        return x > 0 && x < 6 ? 1.0f : 0.0f;
    }
};

/* x Phi(x), the exact form. */
struct function_gelu {
    DEVICE phi(float x)
    {
        return 0.5f * (1.0f + erff(x * 0.70710678118654752f));
    }
    DEVICE value(float x)
    {
        return x * phi(x);
    }
    DEVICE slope(float x)
    {
        return phi(x) + x * 0.39894228040143268f * expf(-0.5f * x * x);
    }
};

struct function_sigmoid {
    DEVICE value(float x)
    {
        return logistic(x);
    }
    DEVICE slope(float x)
    {
        float s = logistic(x);

        return s * (1.0f - s);
    }
};

struct function_tanh {
    DEVICE value(float x)
    {
        return tanhf(x);
    }
    DEVICE slope(float x)
    {
        float t = tanhf(x);

        return 1.0f - t * t;
    }
};

/* The third power, the usual one. */
struct function_pow {
    DEVICE value(float x)
    {
        return x * x * x;
    }
    DEVICE slope(float x)
    {
        return 3.0f * x * x;
    }
};

struct function_silu {
    DEVICE value(float x)
    {
        return x * logistic(x);
    }
    DEVICE slope(float x)
    {
        float s = logistic(x);

        return s * (1.0f + x * (1.0f - s));
    }
};

struct function_hardswish {
    DEVICE value(float x)
    {
        return x * fminf(fmaxf(x + 3, 0), 6) / 6;
    }
    DEVICE slope(float x)
    {
        return x <= -3 ? 0.0f : x < 3 ? x / 3 + 0.5f : 1.0f;
    }
};

struct function_hardsigmoid {
    DEVICE value(float x)
    {
        return fminf(fmaxf(x + 3, 0), 6) / 6;
    }
    DEVICE slope(float x)
    {
        return x > -3 && x < 3 ? 1.0f / 6 : 0.0f;
    }
};

struct function_hardtanh {
    DEVICE value(float x)
    {
        return fminf(fmaxf(x, -1), 1);
    }
    DEVICE slope(float x)
    {
        return x > -1 && x < 1 ? 1.0f : 0.0f;
    }
};

struct function_leaky_relu {
    DEVICE value(float x)
    {
        return x > 0 ? x : 0.01f * x;
    }
    DEVICE slope(float x)
    {
        return x > 0 ? 1.0f : 0.01f;
    }
};

struct function_elu {
    DEVICE value(float x)
    {
        return x > 0 ? x : expm1f(x);
    }
    DEVICE slope(float x)
    {
        return x > 0 ? 1.0f : expf(x);
    }
};

struct function_softplus {
    DEVICE value(float x)
    {
        return x > 20 ? x : log1pf(expf(x));
    }
    DEVICE slope(float x)
    {
        return logistic(x);
    }
};

struct function_mish {
    DEVICE value(float x)
    {
        return x * tanhf(function_softplus::value(x));
    }
    DEVICE slope(float x)
    {
        float t = tanhf(function_softplus::value(x));

        return t + x * (1.0f - t * t) * logistic(x);
    }
};

struct function_exp {
    DEVICE value(float x)
    {
        return expf(x);
    }
    DEVICE slope(float x)
    {
        return expf(x);
    }
};

struct function_log {
    DEVICE value(float x)
    {
        return logf(x);
    }
    DEVICE slope(float x)
    {
        return 1.0f / x;
    }
};

struct function_sqrt {
    DEVICE value(float x)
    {
        return sqrtf(x);
    }
    DEVICE slope(float x)
    {
        return 0.5f / sqrtf(x);
    }
};

struct function_erf {
    DEVICE value(float x)
    {
        return erff(x);
    }
    DEVICE slope(float x)
    {
        return 1.1283791670955126f * expf(-x * x);
    }
};

struct function_abs {
    DEVICE value(float x)
    {
        return fabsf(x);
    }
    DEVICE slope(float x)
    {
        return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f;
    }
};

/* By a constant: half, so that chains of it stay small. */
struct function_scale {
    DEVICE value(float x)
    {
        return 0.5f * x;
    }
    DEVICE slope(float)
    {
        return 0.5f;
    }
};

struct function_copy {
    DEVICE value(float x)
    {
        return x;
    }
    DEVICE slope(float)
    {
        return 1.0f;
    }
};

/* Derivatives to the left and to the right operand. */
struct function_add {
    DEVICE value(float x, float y)
    {
        return x + y;
    }
    DEVICE left(float, float)
    {
        return 1.0f;
    }
    DEVICE right(float, float)
    {
        return 1.0f;
    }
};

struct function_sub {
    DEVICE value(float x, float y)
    {
        return x - y;
    }
    DEVICE left(float, float)
    {
        return 1.0f;
    }
    DEVICE right(float, float)
    {
        return -1.0f;
    }
};

struct function_mul {
    DEVICE value(float x, float y)
    {
        return x * y;
    }
    DEVICE left(float, float y)
    {
        return y;
    }
    DEVICE right(float x, float)
    {
        return x;
    }
};

struct function_div {
    DEVICE value(float x, float y)
    {
        return x / y;
    }
    DEVICE left(float, float y)
    {
        return 1.0f / y;
    }
    DEVICE right(float x, float y)
    {
        return -x / (y * y);
    }
};

struct function_maximum {
    DEVICE value(float x, float y)
    {
        return fmaxf(x, y);
    }
    DEVICE left(float x, float y)
    {
        return x > y ? 1.0f : 0.0f;
    }
    DEVICE right(float x, float y)
    {
        return x > y ? 0.0f : 1.0f;
    }
};

#undef DEVICE

#endif
