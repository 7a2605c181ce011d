import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Caller } from "../caller.ts"

/** How many clusters of this process were started at a place. */
const started = new Map<string, number>()

/** Writes reports of one cluster, always to the same file. */
export class ReportFile {
  readonly #folder: string | undefined
  readonly #name: string

  /** The file is named after the line that starts the cluster. Without a folder nothing is written. */
  constructor(caller: Caller, folder = process.env["K3TS_REPORTS"]) {
    this.#folder = folder === "" ? undefined : folder
    const [, file = "cluster", line = "0"] = /([^/\\(]+):(\d+):\d+\)?$/m.exec(caller.stack) ?? []
    const place = `${file}-${line}`
    const count = (started.get(place) ?? 0) + 1
    started.set(place, count)
    this.#name = `${place}${count === 1 ? "" : `-${count}`}.txt`
  }

  /** Whether failures are reported without being asked. */
  get isWanted(): boolean {
    return this.#folder !== undefined
  }

  /** Returns the path of the file. */
  write(whole: string, folder = this.#folder): string | undefined {
    if (folder === undefined) return undefined
    mkdirSync(folder, { recursive: true })
    const path = join(folder, this.#name)
    writeFileSync(path, whole)
    return path
  }
}
