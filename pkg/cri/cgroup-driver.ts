/** Who makes the cgroups of pods: the runtime itself, or systemd for it. */
export type CgroupDriver = "cgroupfs" | "systemd"
