-- SPDX-License-Identifier: Apache-2.0
--
-- For sbatch, salloc and srun (CliFilterPlugins=lua): defaults of dltime's options, and a rule that
-- a time limit has to be given, which jobs with --dl-model need not keep. It runs before the plugin
-- looks at the job.

-- What options["time"] is where it was not given: as many minutes as 32 bits hold, but one.
local no_time = "2982616-04:14:00"

local function has_time(options)
    return options["time"] ~= nil and options["time"] ~= no_time
end

local function has_model(options)
    local dltime = options["spank"] and options["spank"]["dltime"] or {}
    return (dltime["dl-model"] or os.getenv("DL_MODEL") or "") ~= ""
end

function slurm_cli_setup_defaults(options, early)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    -- A step in a job has the job's time.
    if os.getenv("SLURM_JOB_ID") and options.type == "srun" then
        return slurm.SUCCESS
    end
    if not has_time(options) and not has_model(options) then
        slurm.log_error("a time limit is needed: --time, or --dl-model, from which it is predicted")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
    return slurm.SUCCESS
end
