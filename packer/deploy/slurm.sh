#!/usr/bin/env bash
# A night of wimg on a Slurm cluster: an array of workers, then one job that
# makes the report of what they left.
#
#   ./slurm.sh nightly.toml        submit both; prints the array's job id
#
# Run it from cron or `scrontab` on a host that may submit. The root and the
# checkpoints must lie on a file system that all nodes share, with locks that
# they share (NFS and most parallel file systems; Lustre with `-o flock`).
#
# Slurm gives each worker its share (SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT).
# A worker that is requeued goes on with the next image. To run one share again
# by hand, its number is not enough, as the array is then another one:
#   sbatch --array=3 --export=ALL,WIMG_SHARDS=8 slurm.sh nightly.toml
#
#SBATCH --job-name=wimg-nightly
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=wimg-nightly-%A_%a.log
# CHANGE: as many workers as there are nodes to spare; more share the disks.
#SBATCH --array=0-7
# CHANGE: all cores of a worker are used; its memory stays below 256 MiB, but
# many sites count the page cache too.
#SBATCH --cpus-per-task=8
#SBATCH --mem=2G
# CHANGE: a worker that is out of time is asked to stop a minute before.
#SBATCH --time=06:00:00
#SBATCH --signal=B:TERM@60
# CHANGE: where the site wants it.
##SBATCH --partition=nightly
##SBATCH --account=models
set -euo pipefail

config=${1:-nightly.toml}
# CHANGE: where the program is on the nodes.
wimg=${WIMG:-wimg}

if [[ -z ${SLURM_ARRAY_TASK_ID:-} ]]; then
    array=$(sbatch --parsable "$0" "$config")
    night=${array%%;*}
    # Afterany: the report is to name those that failed too. A worker that is
    # requeued counts as ended for a moment, so the job looks for itself, more
    # than once; a controller that does not answer has not said that all ended.
    wait="ended=0; while [ \$ended -lt 3 ]; do sleep 2; \
        case \$(squeue -h -j $night -o %i 2>&1) in \
            '' | *'Invalid job id'*) ended=\$((ended + 1)) ;; \
            *) ended=0 ;; \
        esac; done"
    collect=$(printf '%q ' "$wimg" nightly "$config" --collect --night "$night")
    sbatch --parsable --job-name=wimg-collect --dependency="afterany:$night" \
        --output=wimg-collect-%j.log --open-mode=append --wrap="$wait; $collect" >&2
    echo "$array"
    exit 0
fi

# The night is named after the array, also when a worker is requeued.
share=(--shard)
if [[ -n ${WIMG_SHARDS:-} ]]; then
    share=(--shards "$WIMG_SHARDS")
fi
# The program takes the shell's place, so that it gets Slurm's signal itself.
exec "$wimg" nightly "$config" "${share[@]}" --night "${WIMG_NIGHT:-$SLURM_ARRAY_JOB_ID}"
