-- SPDX-License-Identifier: Apache-2.0
--
-- For slurmctld (JobSubmitPlugins=lua): what a site may do with dltime's estimates on the server,
-- where users cannot get around it. The plugin tells of each job that had one, in spank_job_env:
--
--   DLTIME_ESTIMATE_S    predicted run time in seconds
--   DLTIME_LIMIT_S       time limit, the user's or dltime's
--   DLTIME_PARTITION     the partition that it is for
--   DLTIME_BASIS         measured, adapted, general, cost model
--   DLTIME_STEP_S, DLTIME_EPOCH_S, DLTIME_VERSION
--
-- They come from the user's own process: use them to help and to spread load, not to trust.

local refuse_above_s = 30 * 86400 -- a training so long is refused: it should checkpoint and requeue
local cap_factor = 10             -- a user's --time is capped at so many times the estimate
local short_s = 900               -- shorter trainings go to short_partition, where there is one
local short_partition = "short"

-- The plugin's variables as a table; empty where the job had no estimate.
local function dltime(job)
    local told = {}
    for _, pair in pairs(job.spank_job_env or {}) do
        local name, value = tostring(pair):match("^(DLTIME_[A-Z_]+)=(.*)$")
        if name then
            told[name] = tonumber(value) or value
        end
    end
    return told
end

local function exists(partitions, name)
    for _, partition in pairs(partitions) do
        if partition.name == name then
            return true
        end
    end
    return false
end

function slurm_job_submit(job, partitions, uid)
    local told = dltime(job)
    local estimate = tonumber(told.DLTIME_ESTIMATE_S)
    if not estimate then
        return slurm.SUCCESS
    end
    if estimate > refuse_above_s then
        slurm.log_user("a training of %d days is refused: write checkpoints, requeue, and give " ..
            "--dl-model the epochs of one run", math.floor(estimate / 86400))
        return slurm.ERROR
    end
    -- time_limit is in minutes.
    local most = math.max(math.ceil(cap_factor * estimate / 60), 60)
    if job.time_limit ~= slurm.NO_VAL and job.time_limit > most then
        slurm.log_user("--time is capped at %d minutes, %d times what the training takes", most,
            cap_factor)
        job.time_limit = most
    end
    if estimate < short_s and not job.partition and exists(partitions, short_partition) then
        slurm.log_user("sent to partition %s", short_partition)
        job.partition = short_partition
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
