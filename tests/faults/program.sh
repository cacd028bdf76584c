#!/bin/sh
# A job's program: it counts to the number it is given, a second each, and writes down what it did.
# Arguments: the folder of the diaries, the count, and what it does when it is asked to save: exit (save, and end with
# the set exit status), stay (save, and go on), or nothing. Who saves does so when it is to end, too, and takes its time.
# The lock is held as long as anything of the program lives; a second one of the same job says so before it waits.
diaries=$1 goal=$2 asked=$3
diary=$diaries/$PBS_JOBID
count=0
say() { echo "$1 $(date +%s.%N) $(hostname) $$" >>"$diary/log"; }
save() {
    echo "$count" >"$diary/saved.new" && mv "$diary/saved.new" "$diary/saved" && say saved
    [ "$asked" = exit ] && exit 85
}
mkdir -p "$diary"
[ "$asked" = nothing ] || trap save USR2
[ "$asked" = nothing ] || trap "save; sleep 2; exit 85" TERM
exec 9>>"$diary/lock"
if ! flock -n 9; then
    echo "$(date +%s.%N) $PBS_JOBID on $(hostname)" >>"$diaries/twice"
    flock 9
fi
say begin
count=$(cat "$diary/saved" 2>/dev/null || echo 0)
say "$count"
while [ "$count" -lt "$goal" ]; do
    sleep 1 || continue
    count=$((count + 1))
    say "$count"
done
say done
