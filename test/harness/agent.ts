import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { onCutOff } from "./abandoned.ts"
import { childOf, type Machine } from "./machine.ts"
import { EXECUTABLE, type TestServer } from "./server.ts"

/** A `dist/k3ts agent` on a machine. Disposing stops the agent; its pods end with the machine. */
export interface TestAgent extends AsyncDisposable {
  /** The pid on this host. */
  readonly pid: number
  /** The end of its output. */
  output(): string
  /** Sends a signal and resolves with the exit code when the process has ended (null: ended by the signal). */
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>
  /** Resolves with the exit code when the process ends by itself. */
  ended(): Promise<number | null>
}

export interface TestAgentOptions {
  readonly machine: Machine
  /** The URL of a server. */
  readonly server: string
  readonly token?: string
  readonly flags?: readonly string[]
}

/** Returns the token of a server by which agents join. */
export const agentToken = ({ dataDir }: Pick<TestServer, "dataDir">): string =>
  readFileSync(join(dataDir, "server/agent-token"), "utf8").trim()

export function startAgent({ machine, server, token, flags = [] }: TestAgentOptions): TestAgent {
  const own = ["--config", "/dev/null", "--server", server, "--data-dir", machine.dataDir]
  const [program, ...args] = machine.command(
    EXECUTABLE,
    "agent",
    ...own,
    ...(token === undefined ? [] : ["--token", token]),
    ...flags,
  )
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  const keep = (bytes: Buffer) => (output = (output + bytes.toString()).slice(-20_000))
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  // What this host has started on a machine is the parent of the agent.
  const signal = (name: NodeJS.Signals): void => {
    const pid = childOf(child.pid!)
    if (pid !== undefined) process.kill(pid, name)
  }
  const kept = onCutOff(() => signal("SIGKILL"))
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const ended = async (): Promise<number | null> => {
    if (!hasEnded()) await once(child, "exit")
    return child.exitCode
  }
  const kill = (name: NodeJS.Signals): Promise<number | null> => {
    if (!hasEnded()) signal(name)
    return ended()
  }
  return {
    get pid() {
      return childOf(child.pid!)!
    },
    output: () => output,
    kill,
    ended,
    async [Symbol.asyncDispose]() {
      kept.release()
      await kill("SIGTERM")
    },
  }
}
