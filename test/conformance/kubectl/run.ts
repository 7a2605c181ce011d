import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../harness/kubectl.ts"
import { inOwnWords } from "./same.ts"

/** The output of a command, without the parts that differ from run to run. */
export interface Printed {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A shell line that starts with kubectl, and what it printed. */
export interface Answer {
  readonly command: string
  readonly printed: Printed
}

/** The commands, in order: most depend on the ones before. */
export const COMMANDS: readonly string[] = readFileSync(join(import.meta.dirname, "commands.txt"), "utf8")
  .split("\n")
  .filter((line) => line !== "")

/** Commands that change nothing. Consecutive ones can run at the same time. */
const LOOKS =
  /^kubectl (-n kc )?(get|describe|explain|api-|version|auth (can-i|whoami)|cluster-info|config|rollout (history|status))/
const AT_A_TIME = 4

/** Runs all commands with one kubectl against one server, in a home of their own. */
export async function runCommands(kubectl: string, kubeconfig: string): Promise<Answer[]> {
  const home = mkdtempSync(join(tmpdir(), "k3ts-kubectl-"))
  try {
    mkdirSync(join(home, "bin"))
    symlinkSync(kubectl, join(home, "bin/kubectl"))
    const env = { KUBECONFIG: kubeconfig, HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin`, TZ: "UTC" }
    const one = async (command: string): Promise<Answer> => {
      const line = `cd ${join(import.meta.dirname, "files")} && timeout 20 ${command}`
      const { code, out, err } = await run("sh", ["-c", line], { env })
      return { command, printed: { code, out: inOwnWords(command, out), err: inOwnWords(command, err) } }
    }
    const answers: Answer[] = []
    for (let next = 0; next < COMMANDS.length;) {
      let end = next + 1
      while (end < next + AT_A_TIME && LOOKS.test(COMMANDS[next]!) && LOOKS.test(COMMANDS[end] ?? "")) end++
      answers.push(...(await Promise.all(COMMANDS.slice(next, end).map(one))))
      next = end
    }
    return answers
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
