-- SPDX-License-Identifier: Apache-2.0
--
-- For sbatch, salloc and srun (CliFilterPlugins=lua): defaults of dltime's options, and a rule that
-- a time limit has to be given, which jobs with --dl-model need not keep. It runs before the plugin
-- looks at the job. Options of plugins are called spank:PLUGIN:OPTION here.

-- The names differ by release; the value of an option that was not given is nil or "".
local function given(options, name)
    local value = options["spank:dltime:" .. name] or options["spank:" .. name]
    return value ~= nil and value ~= ""
end

local function dl_model(options)
    return given(options, "dl-model") or (os.getenv("DL_MODEL") or "") ~= ""
end

function slurm_cli_setup_defaults(options, early)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    -- A step in a job has the job's time.
    if os.getenv("SLURM_JOB_ID") and options.type == "srun" then
        return slurm.SUCCESS
    end
    if options["time"] == nil and not dl_model(options) then
        slurm.log_error("a time limit is needed: --time, or --dl-model, from which it is predicted")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
    return slurm.SUCCESS
end
