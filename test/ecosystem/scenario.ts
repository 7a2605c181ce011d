import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Had } from "./origins/had.ts"
import { runIn } from "./origins/run-in.ts"

/** Functions for the scripts of steps. */
const LIBRARY = `
set -euo pipefail
fail() {
  printf 'FAILED: %s\\n' "$*"
  exit 1
}
# until_true SECONDS COMMAND…: for what no command of kubectl waits for
until_true() {
  local end=$(($(date +%s) + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$end" ] || { "$@" || true; fail "not within its time: $*"; }
    sleep 1
  done
}
# same WANTED FOUND
same() { [ "$1" = "$2" ] || fail "wanted '$1', found '$2'"; }
# has TEXT PART
has() { case $1 in *"$2"*) ;; *) fail "no '$2' in: $1" ;; esac; }
`

export interface ScenarioOptions {
  readonly had: Had
  readonly kubeconfig: string
  /** An empty folder, in which the scripts run. */
  readonly folder: string
  /** The executable of k3ts, which is `kubectl` and `k3ts` on the PATH of scripts. */
  readonly executable: string
  /** The folder that `--sources` names. */
  readonly sources: string | undefined
}

/** What the scenario of a program does, on a running cluster. */
export class Scenario {
  readonly #options: ScenarioOptions
  readonly #variables: Readonly<Record<string, string>>

  constructor(options: ScenarioOptions) {
    const { had, kubeconfig, folder, executable } = options
    this.#options = options
    const programs = join(folder, "bin")
    this.#writeProgram(join(programs, "kubectl"), `exec '${executable}' kubectl "$@"`)
    this.#writeProgram(join(programs, "k3ts"), `exec '${executable}' "$@"`)
    this.#variables = {
      PATH: [programs, ...had.folders, process.env["PATH"]].join(":"),
      KUBECONFIG: kubeconfig,
      HOME: folder,
      NO_COLOR: "1",
    }
  }

  get had(): Had {
    return this.#options.had
  }

  get kubeconfig(): string {
    return this.#options.kubeconfig
  }

  /**
   * Runs a script of bash with the functions above. Returns what it printed.
   * @throws Error with its output where it fails, or has not ended after so many seconds
   */
  async step(title: string, seconds: number, script: string): Promise<string> {
    const began = performance.now()
    console.log(`==> ${title}`)
    try {
      return await runIn(this.#options.folder, ["bash", "-c", LIBRARY + script], seconds, this.#variables)
    } catch (err) {
      throw new Error(`${title}: ${(err as Error).message}`, { cause: err })
    } finally {
      console.log(`    ${((performance.now() - began) / 1000).toFixed(1)} s`)
    }
  }

  /** Writes a file of ours, such as a chart or a manifest, by its path from the folder of the scripts. */
  write(path: string, text: string | Uint8Array): void {
    const file = join(this.#options.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  /** The path of a file of a checkout. */
  source(repository: string, path = "."): string {
    return join(this.#options.sources ?? "", repository, path)
  }

  #writeProgram(path: string, script: string): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
}
