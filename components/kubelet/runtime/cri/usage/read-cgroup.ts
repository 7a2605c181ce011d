import type { Detail, Usage } from "../../usage.ts"

/** Reads the usage of a cgroup by its folder; undefined when the cgroup does not exist. */
export type ReadCgroup = (folder: string, detail: Detail) => Promise<Usage | undefined>
