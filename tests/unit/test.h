/* test.h - what every unit test includes: cmocka with its own prerequisites, and doubles. */
#ifndef DLT_TESTS_UNIT_TEST_H
#define DLT_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

/* cmocka's own comparison is of floats, too coarse for sums of seconds. */
static inline void check_near(double value, double expected, double tolerance, const char *file,
                              int line)
{
    if (!(fabs(value - expected) <= tolerance)) {
        print_error("%.12g is not within %g of %.12g\n", value, tolerance, expected);
        _fail(file, line);
    }
}
#define assert_near(value, expected, tolerance)                                                    \
    check_near((value), (expected), (tolerance), __FILE__, __LINE__)

#endif
