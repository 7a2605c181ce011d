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
    const { file, line } = placeOf(caller.stack)
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

/** Returns the file, without its folders, and the line of the innermost call of a stack. */
function placeOf(stack: string): { readonly file: string; readonly line: string } {
  for (const text of stack.split("\n")) {
    const [line, column] = text.replace(")", "").split(":").slice(-2)
    const path = text.slice(0, text.lastIndexOf(`:${line}:${column}`))
    const file = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"), path.lastIndexOf("(")) + 1)
    if (file !== "" && isNumber(line) && isNumber(column)) return { file, line: line! }
  }
  return { file: "cluster", line: "0" }
}

const isNumber = (text: string | undefined): boolean => text !== undefined && /^\d+$/.test(text)
