import { spawnSync } from "node:child_process"
import { join } from "node:path"
import type { Printed } from "./run.ts"

/** What kubectl prints with Kubernetes 1.36.2, by the versions of kubectl (`1.<minor>`) that print the same. */
export interface Recorded {
  readonly command: string
  readonly answers: readonly (Printed & { readonly kubectl: readonly string[] })[]
}

export const FILE = join(import.meta.dirname, "answers.json")
export const answersOf = ({ code, out, err }: Printed): string => JSON.stringify({ code, out, err })

/** `1.<minor>` of a kubectl. */
export const minorOf = (kubectl: string): string =>
  /gitVersion: v(\d+\.\d+)/.exec(
    spawnSync(kubectl, ["version", "--client", "-o", "yaml"], { encoding: "utf8" }).stdout,
  )?.[1] ?? "?"
