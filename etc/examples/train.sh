#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A training that goes on where its last run ended. Before the time limit Slurm sends USR1; the
# training writes its checkpoint and ends, and the job puts itself back into the queue:
#
#   sbatch --dl-model=resnet50,batch=256,epochs=90,samples=1281167 train.sh
#
# $TRAIN is the training's command. It has to load its last checkpoint if there is one, and on USR1
# write one and end with status 99; with 0 it is done.
#SBATCH --job-name=train
#SBATCH --output=train-%j.out
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@120

train=${TRAIN:-python3 train.py --resume}
again=99 # the training's status where it has stopped in time and wants to go on

# What dltime told the job; under both names, since --export=NONE leaves only the second.
estimate_s=${DLTIME_ESTIMATE_S:-${SLURM_DLTIME_ESTIMATE_S:-}}
limit_s=${DLTIME_LIMIT_S:-${SLURM_DLTIME_LIMIT_S:-}}
epoch_s=${DLTIME_EPOCH_S:-${SLURM_DLTIME_EPOCH_S:-}}
echo "run ${SLURM_RESTART_COUNT:-0} of job $SLURM_JOB_ID: all epochs take about ${estimate_s:-?} s," \
    "one ${epoch_s:-?} s; the limit is ${limit_s:-?} s"
if [ -n "$limit_s" ] && [ -n "$epoch_s" ]; then
    # For the training to space its checkpoints by: what is not saved when the signal comes is lost.
    EPOCHS_IN_LIMIT=$(awk -v l="$limit_s" -v e="$epoch_s" 'BEGIN { print int((l - 120) / e) }')
    export EPOCHS_IN_LIMIT
fi

# The shell gets the signal (B:) and passes it on. It waits again afterwards, for `wait` ends then;
# a last time for the status, also of a training that ended at once.
trap 'echo "time is nearly up: a checkpoint, please"; kill -USR1 "$pid" 2>/dev/null' USR1
$train &
pid=$!
wait "$pid"
while kill -0 "$pid" 2>/dev/null; do
    wait "$pid"
done
wait "$pid"
status=$?

if [ "$status" -eq "$again" ]; then
    echo "stopped in time; back into the queue"
    scontrol requeue "$SLURM_JOB_ID"
    # Slurm ends this run now. A status of its own would be taken for a failure.
    sleep 60
fi
exit "$status"
