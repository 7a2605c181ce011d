import type { Detail, Usage } from "../../usage.ts"

/** Reads what the kernel counts of a cgroup, by its folder; undefined where there is none. */
export type ReadCgroup = (folder: string, detail: Detail) => Promise<Usage | undefined>
