#!/bin/sh
# Slurm epilog: puts one line about the job's GPUs into its comment, where 'sacct -o Comment' shows it. In slurm.conf:
#   EpilogSlurmctld is not needed; Epilog=/etc/slurm/epilog.d/assay.sh
# Needs an 'assay serve' on the node with this state folder: that of the service.
STATE=${ASSAY_STATE:-/var/lib/assay-serve}
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
# The record is closed some seconds after the last process has gone.
sleep 4
line=$(assay job "$SLURM_JOB_ID" --brief --state "$STATE" 2>/dev/null) || exit 0
scontrol update "JobId=$SLURM_JOB_ID" "Comment=$line" 2>/dev/null
exit 0
