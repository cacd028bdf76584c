#!/bin/bash
# A job that saves its work when it is asked to, and goes on from there: it counts, a step each STEP_S seconds, to GOAL.
#PBS -N counting
#PBS -l pbsteer_save=signal
#PBS -r y
cd "$PBS_O_WORKDIR" || exit 1
saved="counting.${PBS_JOBID%%.*}.saved"

save() {
    # Whole or not at all: a program killed while it writes keeps its last save.
    echo "$count" > "$saved.new" && mv "$saved.new" "$saved"
}

# 85 tells that the work is saved, not done. Each process of the job gets the signal, and one without a trap dies of it.
trap 'save && exit 85' USR2

count=$(cat "$saved" 2>/dev/null || echo 0)
while [ "$count" -lt "${GOAL:-60}" ]; do
    sleep "${STEP_S:-1}" || continue # the signal ends the sleep, and its step does not count
    count=$((count + 1))
    echo "$count" >> "counting.${PBS_JOBID%%.*}.log"
done
# The work is done, and stays done if the job is run once more because it was asked to save before it ended.
save
