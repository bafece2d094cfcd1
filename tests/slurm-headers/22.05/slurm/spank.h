/* Slurm 22.05 */
#ifndef TEST_SLURM_SPANK_H
#define TEST_SLURM_SPANK_H
#define RELEASE_SPANK_RESULT   enum spank_err
#define RELEASE_PLUGIN_VERSION 0x160508
enum spank_err { ESPANK_SUCCESS };
#include "slurm.h"

#include "../../spank_declarations.h"
#endif
