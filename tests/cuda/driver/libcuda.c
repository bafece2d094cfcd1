/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What cuDNN asks a driver for while it compiles an engine, without a device: libcuda.so.1 for the
 * device on the host. A loaded library or kernel is any address; what would need a device fails.
 */
enum { DONE = 0, NO_DEVICE = 100, NOT_FOUND = 500 };

static char anything;

#define ASKED(name, result)                                                                        \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return result;                                                                             \
    }
#define LOADED(name)                                                                               \
    int name(void **made);                                                                         \
    int name(void **made)                                                                          \
    {                                                                                              \
        *made = &anything;                                                                         \
        return DONE;                                                                               \
    }

ASKED(cuInit, NO_DEVICE)
ASKED(cuDriverGetVersion, NO_DEVICE)
ASKED(cuDeviceGet, NO_DEVICE)
ASKED(cuDeviceGetCount, NO_DEVICE)
ASKED(cuGetExportTable, NOT_FOUND)
ASKED(cuGetErrorName, NOT_FOUND)
ASKED(cuGetErrorString, NOT_FOUND)
ASKED(cuCtxGetCurrent, NOT_FOUND)
ASKED(cuCtxGetLimit, NOT_FOUND)
ASKED(cuCtxPopCurrent, NOT_FOUND)
ASKED(cuCtxPushCurrent, NOT_FOUND)
ASKED(cuStreamGetCtx, NOT_FOUND)
ASKED(cuLinkCreate, NOT_FOUND)
ASKED(cuLinkAddData, NOT_FOUND)
ASKED(cuLinkComplete, NOT_FOUND)
ASKED(cuLinkDestroy, NOT_FOUND)
ASKED(cuLaunchKernel, NOT_FOUND)
ASKED(cuLaunchKernelEx, NOT_FOUND)
ASKED(cuLaunchCooperativeKernel, NOT_FOUND)
ASKED(cuOccupancyMaxPotentialClusterSize, NOT_FOUND)
ASKED(cuLibraryLoadFromFile, NOT_FOUND)
ASKED(cuLibraryUnload, DONE)
ASKED(cuKernelGetAttribute, NOT_FOUND)
ASKED(cuKernelSetAttribute, DONE)
LOADED(cuLibraryLoadData)
LOADED(cuLibraryGetKernel)
