/* Slurm 20.11 */
#ifndef TEST_SLURM_SPANK_H
#define TEST_SLURM_SPANK_H
#define RELEASE_SPANK_RESULT   int
#define RELEASE_PLUGIN_VERSION 0x140b09
#include "slurm.h"

#include "../../spank_declarations.h"
#endif
