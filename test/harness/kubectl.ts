import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}
export interface RunOptions {
  readonly input?: string | Uint8Array
  /** Whether the program has a terminal of its own, as `-it` needs. All of its output is then in `out`. */
  readonly terminal?: boolean
}

/** Runs a program to its end; never throws for an exit code. */
export async function run(
  program: string,
  args: readonly string[],
  { input, env }: { readonly input?: string | Uint8Array; readonly env?: Record<string, string | undefined> } = {},
): Promise<Ran> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: env ?? process.env })
  let [out, err] = ["", ""]
  child.stdout.on("data", (bytes: Buffer) => (out += bytes.toString()))
  child.stderr.on("data", (bytes: Buffer) => (err += bytes.toString()))
  child.stdin.on("error", () => undefined) // it may end without reading
  child.stdin.end(input)
  const [code] = (await once(child, "close")) as [number | null]
  return { code: code ?? 255, out, err }
}

/**
 * The real kubectl, or one of them, with a cluster's kubeconfig and a home of its own: the user's caches and settings
 * stay untouched.
 */
export class Kubectl {
  readonly path: string
  readonly env: Record<string, string | undefined>

  constructor({
    path = "kubectl",
    kubeconfig,
    home,
  }: {
    readonly path?: string
    readonly kubeconfig: string
    readonly home: string
  }) {
    this.path = path
    this.env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home, COLUMNS: "200" }
  }

  /** Waits until no object has the label; kubectl calls it an error when they are gone before it looks. */
  async gone(kind: string, label: string, flags: readonly string[] = []): Promise<void> {
    const { code, err } = await this.run([...flags, "wait", "--for=delete", kind, "-l", label, "--timeout=30s"])
    if (code !== 0 && err !== "error: no matching resources found\n")
      throw new Error(`${kind}s with the label ${label} are not gone: ${err}`)
  }

  run(args: readonly string[], { input, terminal = false }: RunOptions = {}): Promise<Ran> {
    const { env } = this
    if (!terminal) return run(this.path, args, { env, ...(input === undefined ? {} : { input }) })
    const command = [this.path, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ")
    return run("script", ["-qec", `stty rows 24 cols 80; ${command}`, "/dev/null"], {
      env,
      ...(input === undefined ? {} : { input }),
    })
  }

  /** Returns the output. @throws Error with the errors of the program */
  async ok(args: string | readonly string[], options?: RunOptions): Promise<string> {
    const words = typeof args === "string" ? args.split(" ") : args
    const { code, out, err } = await this.run(words, options)
    if (code !== 0) throw new Error(`kubectl ${words.join(" ")} ended with ${code}: ${err || out}`)
    return out
  }

  /** Runs a shell script in a pod's container and returns its output. */
  async sh(pod: string, script: string, container?: string): Promise<string> {
    return this.ok(["exec", pod, ...(container === undefined ? [] : ["-c", container]), "--", "sh", "-c", script])
  }

  /** Forwards a port of this machine to one of a pod or Service until disposed. */
  async portForward(
    target: string,
    port: number,
    options: readonly string[] = [],
  ): Promise<AsyncDisposable & { readonly port: number }> {
    const child = spawn(this.path, ["port-forward", ...options, target, `:${port}`], {
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
    })
    let output = ""
    const local = await new Promise<number>((resolve, reject) => {
      const take = (bytes: Buffer) => {
        output += bytes.toString()
        const found = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)
        if (found) resolve(Number(found[1]))
      }
      child.stdout.on("data", take)
      child.stderr.on("data", take)
      child.once("exit", (code) => reject(new Error(`kubectl port-forward ${target} ended with ${code}: ${output}`)))
    })
    return {
      port: local,
      async [Symbol.asyncDispose]() {
        if (child.exitCode !== null) return
        child.kill()
        await once(child, "exit")
      },
    }
  }
}
