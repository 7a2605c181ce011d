import type { Seen, Write } from "./seen.ts"

/** Returns what is wrong with a write, one line each; `seen` has the objects as they are after it. */
export type WriteInvariant = (write: Write, seen: Seen) => readonly string[]

/** Whether the write was made by the controller: in a cluster each has an account of its own. */
export const isBy = ({ author }: Write, controller: string): boolean =>
  author === `system:serviceaccount:kube-system:${controller}`
