import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { spawn, type ChildProcess } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Agent } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onCutOff } from "../../harness/abandoned.ts"
import { afterOwnTime } from "../../harness/own-time.ts"
import { send, type Answer } from "../../harness/server.ts"
import type { Asked, Measured, Told } from "./turns.ts"

/** Of the process's own time: a busy machine may need longer. */
const START_LIMIT_MS = 60_000
const ANSWER_LIMIT_MS = 40_000
/** Ends a test that hangs, in milliseconds; what a cluster may take is limited by its own time. */
export const TEST_LIMIT_MS = 600_000
/** A cluster that takes more resident memory is killed, so that a bomb does not end other processes of the machine. */
const MOST_RESIDENT_BYTES = 2e9
const WATCH_MS = 100
const PAGE_BYTES = 4096

/** The program whole-cluster.ts as a process, with a data directory that a restart keeps. */
export class ClusterProcess implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), "k3ts-bombs-"))
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 })
  readonly #kept = onCutOff(() => {
    this.#child?.kill("SIGKILL")
    rmSync(this.#dir, { recursive: true, force: true })
  })
  #child: ChildProcess | undefined
  #port = 0
  #token = ""
  #output = ""
  #told: ((told: Told | Error) => void) | undefined

  /** Whether the process runs. */
  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }
  /** The end of what the process has written. */
  get output(): string {
    return this.#output
  }

  /** Starts the cluster. Returns when every component is ready. @throws Error when it does not start within a minute */
  async start(args: readonly string[] = []): Promise<void> {
    this.#port = await freePort()
    const program = join(import.meta.dirname, "whole-cluster.ts")
    const child = (this.#child = spawn(
      process.execPath,
      [
        ...args,
        program,
        ...["--data-dir", this.#dir, "--https-listen-port", String(this.#port), "--bind-address", "127.0.0.1"],
        ...["--write-kubeconfig", join(this.#dir, "k3ts.yaml"), "--container-runtime-endpoint", "simulated"],
        ...["--node-name", "simulated"],
      ],
      { stdio: ["ignore", "pipe", "pipe", "ipc"], env: { ...process.env, K3TS_FROZEN: "" } },
    ))
    const keep = (bytes: Buffer) => (this.#output = (this.#output + bytes.toString()).slice(-20_000))
    child.stdout!.on("data", keep)
    child.stderr!.on("data", keep)
    child.on("message", (told: Told) => this.#told?.(told))
    const watch = setInterval(() => this.#watchMemory(child), WATCH_MS)
    child.on("exit", () => clearInterval(watch))
    child.on("exit", (code, signal) =>
      this.#told?.(new Error(`The cluster's process ended (${code ?? signal}):\n${this.#output.slice(-3000)}`)),
    )
    await this.#next(START_LIMIT_MS)
    this.#token = readFileSync(join(this.#dir, "server/token"), "utf8").trim()
  }

  /** Ends the process as a power failure would, and starts it again. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.alive) return
    this.#told = undefined
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await ended
  }

  /** Ends the process in good order. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.alive) return
    this.#told = undefined
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.disconnect()
    await ended
  }

  begin(): Promise<unknown> {
    return this.#ask("begin")
  }
  /** Waits until the cluster is quiet, and returns what it measured since `begin`. */
  async end(): Promise<Measured> {
    return (await this.#ask("end")) as Measured
  }

  /** Sends a request as administrator. @throws Error when it is not answered within 40 seconds of the process */
  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = send(
      this.#agent,
      this.#port,
      method,
      path,
      {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    )
    const late = Promise.withResolvers<never>()
    const cancel = afterOwnTime(this.#child!.pid!, ANSWER_LIMIT_MS, () =>
      late.reject(new Error(`${method} was not answered within ${ANSWER_LIMIT_MS / 1000} s`)),
    )
    return Promise.race([answer, late.promise]).finally(cancel)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    this.#kept.release()
    await this.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #watchMemory(child: ChildProcess): void {
    const { pid } = child
    if (pid === undefined || !this.alive || child !== this.#child) return
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1])
    if (pages * PAGE_BYTES < MOST_RESIDENT_BYTES) return
    this.#output += `\nkilled: more than ${MOST_RESIDENT_BYTES / 1e9} GB of memory\n`
    child.kill("SIGKILL")
  }

  async #ask(asked: Asked): Promise<Told> {
    const answer = this.#next(ANSWER_LIMIT_MS)
    this.#child!.send(asked)
    return answer
  }

  #next(limitMs: number): Promise<Told> {
    return new Promise((resolve, reject) => {
      const fail = (err: Error) => {
        this.#told = undefined
        cancel()
        reject(err)
      }
      const cancel = afterOwnTime(this.#child!.pid!, limitMs, () =>
        fail(
          new Error(`The cluster's process did not answer within ${limitMs / 1000} s:\n${this.#output.slice(-3000)}`),
        ),
      )
      this.#told = (told) => {
        if (told instanceof Error) return fail(told)
        this.#told = undefined
        cancel()
        resolve(told)
      }
    })
  }
}
