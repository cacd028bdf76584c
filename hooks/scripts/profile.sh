# For /etc/profile.d on the hosts that run jobs. PBS sends a signal to every process of a job, the login shell that runs
# the job's script too: without a trap that shell dies of it, and PBS kills the script while it saves. The trap does
# nothing but keep the shell alive; its children, the script among them, are free to set their own.
if [ -n "$PBS_JOBID" ]; then
    trap : USR2
fi
