/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/interconnect.h"

#include "base/text.h"

/* The nominal rate of one direction (PCI-SIG, NVIDIA's data sheets by generation for a whole GPU,
 * IEEE 802.3, InfiniBand Trade Association), of which protocols leave a ring about four fifths. */
#define GIGABYTES(nominal) (0.8e9 * (nominal))
#define GIGABITS(nominal)  (0.8e9 / 8 * (nominal))

const struct dlt_interconnect dlt_interconnects[] = {
    {"pcie3", GIGABYTES(15.75)},
    {"pcie4", GIGABYTES(31.5)},
    {"pcie5", GIGABYTES(63)},
    {"nvlink1", GIGABYTES(80)},
    {"nvlink2", GIGABYTES(150)},
    {"nvlink3", GIGABYTES(300)},
    {"nvlink4", GIGABYTES(450)},
    {"nvlink5", GIGABYTES(900)},
    {"10gbe", GIGABITS(10)},
    {"25gbe", GIGABITS(25)},
    {"100gbe", DLT_NODE_BANDWIDTH},
    {"200gbe", GIGABITS(200)},
    {"400gbe", GIGABITS(400)},
    {"edr", GIGABITS(100)},
    {"hdr100", GIGABITS(100)},
    {"hdr", GIGABITS(200)},
    {"ndr200", GIGABITS(200)},
    {"ndr", GIGABITS(400)},
    {NULL, 0},
};

enum { COUNT = sizeof dlt_interconnects / sizeof *dlt_interconnects - 1 };

const struct dlt_interconnect *dlt_interconnect_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (dlt_text_same(dlt_interconnects[i].name, name))
            return &dlt_interconnects[i];
    return NULL;
}

const char *dlt_interconnect_nearest(const char *name)
{
    const char *names[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        names[i] = dlt_interconnects[i].name;
    return dlt_text_nearest(name, names, COUNT);
}
