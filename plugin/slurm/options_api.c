/* SPDX-License-Identifier: Apache-2.0 */
#include "options_api.h"

#include <dlfcn.h>

job_desc_msg_t *options_job_desc(void *opt, bool *unfit)
{
    job_desc_msg_t *(*create)(void *opt, bool set_defaults) = NULL;
    job_desc_msg_t *made;

    *(void **)&create = dlsym(RTLD_DEFAULT, "slurm_opt_create_job_desc");
    *unfit = false;
    if (!create)
        return NULL;
    made = create(opt, true);
    *unfit = !made;
    return made;
}
