#!/bin/sh
# Slurm epilog: writes what the job did with its GPUs into its AdminComment, as Princeton's 'jobstats' keeps it, where
# 'jobstats JOBID', 'reportseff' and 'sacct -o AdminComment' find it. In slurm.conf, on every node:
#   Epilog=/etc/slurm/epilog.d/assay.sh
# It needs slurmdbd, 'sacct' and 'sacctmgr' on the node, and an 'assay serve' with this state folder: that of the service.
# The node is not held up: the work goes on in a session of its own, as Slurm kills what an epilog leaves in its own.
ASSAY=${ASSAY:-assay}
STATE=${ASSAY_STATE:-/var/lib/assay-serve}
PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
FOLDER=${ASSAY_RECORDINGS:-/var/spool/assay}

# The end of what prolog.sh began: the recording is the job's user's then. An empty log says nothing.
end_recording() {
        mine="$FOLDER/$SLURM_JOB_ID"
        [ -f "$mine.pid" ] || return 0
        pid=$(cat "$mine.pid")
        if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = assay ]; then
                kill -INT "$pid"
                tries=0
                while kill -0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do
                        tries=$((tries + 1))
                        sleep 0.2
                done
        fi
        rm -f "$mine.pid"
        [ -s "$mine.log" ] || rm -f "$mine.log"
        for file in "$mine.assay" "$mine.log"; do
                [ ! -f "$file" ] || chown "${SLURM_JOB_UID:-0}" "$file"
        done
}

if [ "${1:-}" != late ]; then
        end_recording
        # In the foreground up to the new session: what is still in Slurm's is killed as soon as this ends.
        setsid sh -c 'sh "$0" late </dev/null >/dev/null 2>&1 &' "$0"
        exit 0
fi

say() { logger -t assay-epilog "job $SLURM_JOB_ID: $*"; }

# The record is final some seconds after the last process has gone. A job without GPUs has none.
tries=0
until "$ASSAY" job "$SLURM_JOB_ID" --format json --state "$STATE" 2>/dev/null | grep -q '"final": *true'; do
        tries=$((tries + 1))
        [ $tries -lt 15 ] || exit 0
        sleep 1
done

# "JOBID|COMMENT". Tasks of an array are changed by 12_3: their number alone would change all of them.
known() {
        sacct -n -P -X -j "$SLURM_JOB_ID" -o JobIDRaw,JobID,AdminComment |
                awk -F'|' -v id="$SLURM_JOB_ID" '$1 == id { print $2 "|" $3; exit }'
}

change() { sacctmgr -i modify job where jobid="$1" set "AdminComment=$2" 2>&1 || say "sacctmgr failed"; }

# Each node adds itself to what the others wrote. Two that write at once overwrite each other: the loser sees that it is missing.
tries=0
small=''
while [ $tries -lt 5 ]; do
        tries=$((tries + 1))
        if line=$(known) && [ -n "$line" ]; then
                old=${line#*|}
                if [ -n "$small" ] && [ "$old" = "$small" ]; then
                        # sacctmgr before Slurm 23.02 makes the letters small, which base64 does not survive: a line of text, then.
                        say "$(change "${line%%|*}" "$("$ASSAY" job "$SLURM_JOB_ID" --brief --state "$STATE" | tr ',' ';')")"
                        exit 0
                fi
                new=$("$ASSAY" job "$SLURM_JOB_ID" --format jobstats --merge "$old" --state "$STATE" 2>&1) || { say "$new"; exit 0; }
                [ "$new" != "$old" ] || exit 0
                why=$(change "${line%%|*}" "$new")
                small=$(printf %s "$new" | tr A-Z a-z)
        fi
        sleep $((1 + $$ % 3))
done
say "the comment was not kept; is slurmdbd up, and may root modify jobs (sacctmgr show user root)? $why"
exit 0
