#!/bin/sh
# Slurm prolog: records every job on this node, GPUs and host, into FOLDER/JOBID.assay; epilog.sh ends the recording and
# gives it to the job's user. In slurm.conf, on every node:
#   Prolog=/etc/slurm/prolog.d/assay.sh
#   Epilog=/etc/slurm/epilog.d/assay.sh
# What goes wrong is in FOLDER/JOBID.log, and keeps no job waiting. Old recordings: find FOLDER -mtime +30 -delete
ASSAY=${ASSAY:-assay}
FOLDER=${ASSAY_RECORDINGS:-/var/spool/assay}
PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH ASSAY FOLDER
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
# Others may open what is theirs in it by name, and list nothing.
mkdir -p -m 0711 "$FOLDER" || exit 0
# A session of its own, in the foreground up to there: what is still in Slurm's is killed as soon as the prolog ends.
# shellcheck disable=SC2016
setsid sh -c '
        "$ASSAY" record -q --job "$SLURM_JOB_ID" -o "$FOLDER/$SLURM_JOB_ID.assay" </dev/null >"$FOLDER/$SLURM_JOB_ID.log" 2>&1 &
        echo $! >"$FOLDER/$SLURM_JOB_ID.pid"'
exit 0
