/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

const char *const dlt_timing_names[DLT_TIMINGS] = {"unknown", "host_synchronous", "events_single",
                                                   "events_batched"};
