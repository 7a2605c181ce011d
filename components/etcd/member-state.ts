/** What the folder of a member says, and what follows from it at a start. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Random } from "../../pkg/clock/random.ts"
import { readIfExists, replaceFile } from "../../pkg/files/files.ts"

export interface MemberState {
  /** Whether etcd has data there. */
  readonly hasData: boolean
  /** What has begun and not ended: filling the first member with a database, or joining a cluster. */
  readonly unfinished: "filling" | "joining" | undefined
  /** Whether the cluster has removed this member for good. */
  readonly isRemoved: boolean
  /** Whether this server has a database of its own, in SQLite. */
  readonly hasDatabase: boolean
  /** Whether `--server` names a server of a cluster. */
  readonly joins: boolean
}

/**
 * What a start has to do:
 *
 *  - start: etcd continues with its data.
 *  - begin: etcd is the first member of a new cluster; `fills` it with what the database has.
 *  - finish: as start, and filling it had been done.
 *  - join: a cluster has to be asked first.
 */
export type MemberPlan =
  | { readonly action: "start" | "finish" }
  | { readonly action: "begin"; readonly fills: boolean }
  | { readonly action: "join" }

/** Says what a start has to do. @throws Error that names the mend */
export function planOf({ hasData, unfinished, isRemoved, hasDatabase, joins }: MemberState): MemberPlan {
  if (isRemoved || unfinished === "joining") {
    if (joins) return { action: "join" }
    throw new Error(
      isRemoved
        ? "This server has been removed from its cluster, which happens when its Node is deleted. To join again, start " +
            "it with --server and the address of another server"
        : "This server has not joined its cluster completely. Start it with --server and the address of another server",
    )
  }
  if (unfinished === "filling") return hasDatabase ? { action: "begin", fills: true } : { action: "finish" }
  if (hasData) return { action: "start" }
  if (!joins) return { action: "begin", fills: hasDatabase }
  if (!hasDatabase) return { action: "join" }
  throw new Error(
    "This server has a cluster of its own, in its database. To join another one, start with an empty --data-dir; to " +
      "let others join this one, start it with --cluster-init and without --server",
  )
}

/** The file that is there while the first member is filled with a database. */
export const FILLING = "filling"
const MARKS = { filling: FILLING, joining: "joining", removed: "removed" } as const

/** The folder of a member: etcd's data, its name, and marks of what has not ended. */
export class MemberFolder {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  get hasData(): boolean {
    return existsSync(join(this.path, "member"))
  }

  state(outside: Pick<MemberState, "hasDatabase" | "joins">): MemberState {
    const has = (mark: keyof typeof MARKS) => existsSync(join(this.path, MARKS[mark]))
    return {
      hasData: this.hasData,
      unfinished: has("filling") ? "filling" : has("joining") ? "joining" : undefined,
      isRemoved: has("removed"),
      ...outside,
    }
  }

  /** Begins with an empty folder, whose data are of no use before `unmark`. */
  empty(mark: "filling" | "joining"): void {
    rmSync(this.path, { recursive: true, force: true })
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    this.mark(mark)
  }

  /** Removes the folder, which has nothing that counts. */
  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }

  mark(mark: keyof typeof MARKS): void {
    writeFileSync(join(this.path, MARKS[mark]), "", { mode: 0o600 })
  }

  unmark(mark: keyof typeof MARKS): void {
    rmSync(join(this.path, MARKS[mark]), { force: true })
  }

  /** Renames the folder of a member that has been removed. Returns where it is; undefined where there was none. */
  putAside(now: number): string | undefined {
    if (!this.hasData) return undefined
    const aside = `${this.path}-old-${Math.floor(now / 1000)}`
    renameSync(this.path, aside)
    return aside
  }

  /**
   * Returns the name of the member, which is the node's with a number of chance: a member that joins again is another
   * one. Source: k3s pkg/etcd/etcd.go setName.
   */
  name(nodeName: string, random: Random): string {
    const file = join(this.path, "name")
    const known = readIfExists(file)?.trim() ?? ""
    if (known !== "") return known
    const made = `${nodeName}-${Buffer.from(random.bytes(4)).toString("hex")}`
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    replaceFile(file, `${made}\n`, { mode: 0o600 })
    return made
  }
}
