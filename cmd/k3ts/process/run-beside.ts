import { spawn, type ChildProcess } from "node:child_process"
import { mkdirSync } from "node:fs"
import { constants } from "node:os"
import { delimiter, join } from "node:path"
import { writeScript } from "../own-program.ts"

/** The exit codes of a shell for a command that it cannot find, and for one that it may not run. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126

/** Puts this program, as kubectl, in front of the PATH. */
export function withKubectl(folder: string): { readonly PATH: string } {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  writeScript(join(bin, "kubectl"), ["kubectl"])
  return { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const
export type SignalName = (typeof SIGNALS)[number]

export interface Signals {
  readonly first: Promise<SignalName>
  /** Calls `listener` for each signal, instead of ending the program. */
  onSignal(listener: (name: SignalName) => void): void
}

export function untilSignal(): Signals {
  const { promise, resolve } = Promise.withResolvers<SignalName>()
  const listeners: ((name: SignalName) => void)[] = []
  for (const name of SIGNALS) {
    process.on(name, () => {
      resolve(name)
      for (const listener of listeners) listener(name)
    })
  }
  return { first: promise, onSignal: (listener) => void listeners.push(listener) }
}

/** Resolves with the exit code of the command. Signals are passed to the command, which decides what to do. */
export function runBeside(
  [program = "", ...args]: readonly string[],
  variables: Readonly<Record<string, string>>,
  signals: Signals,
): Promise<number> {
  return new Promise((resolve) => {
    const child: ChildProcess = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...variables } })
    signals.onSignal((name) => child.kill(name))
    child.once("error", (err) => {
      process.stderr.write(`k3ts: cannot run ${program}: ${err.message}\n`)
      resolve("code" in err && err.code === "EACCES" ? NOT_EXECUTABLE : NOT_FOUND)
    })
    child.once("exit", (code, signal) => resolve(code ?? codeOf(signal ?? "SIGTERM")))
  })
}

/** Returns the exit code for a signal as shells do: 128 plus its number. */
export const codeOf = (signal: NodeJS.Signals): number => 128 + (constants.signals[signal] ?? 0)
