import { PassThrough } from "node:stream"
import { CriError } from "../../../../../pkg/cri/errors.ts"
import { exitCodeStatus, failureStatus, type CommandStatus } from "../../../../../pkg/streaming/status.ts"
import type { RemoteCommandClient } from "../../../../../pkg/streaming/remote-command-client.ts"
import { errorMessage } from "../../../../../pkg/errors/error-message.ts"
import type { RuntimeStreams } from "../../runtime.ts"
import type { SimulatedContainer } from "./container.ts"
import { httpConnection } from "./http-connection.ts"
import type { MemoryFiles } from "../machine/memory-files.ts"
import type { SimulatedNetwork } from "../machine/network.ts"

/** The request for which a URL was made. */
type Prepared =
  | { readonly kind: "exec"; readonly container: SimulatedContainer; readonly command: readonly string[] }
  | { readonly kind: "attach"; readonly container: SimulatedContainer }
  | { readonly kind: "ports"; readonly ip: string }

const DIAL_MS = 10_000

/** Takes the place of the runtime's streaming server. Each URL that was made can be opened once. */
export class SimulatedStreams implements RuntimeStreams {
  readonly inputEndsOutput = false
  readonly #prepared = new Map<string, Prepared>()
  readonly #network: SimulatedNetwork
  readonly #files: MemoryFiles
  #count = 0

  constructor(network: SimulatedNetwork, files: MemoryFiles) {
    this.#network = network
    this.#files = files
  }

  prepare(what: Prepared): string {
    const url = `simulated:///${what.kind}/${this.#count++}`
    this.#prepared.set(url, what)
    return url
  }

  exec(url: string): Promise<RemoteCommandClient> {
    return this.attach(url)
  }

  /** A simulated command ends at once. */
  processes(): Promise<number> {
    return Promise.resolve(0)
  }

  async attach(url: string): Promise<RemoteCommandClient> {
    const what = this.#take(url)
    if (what.kind === "ports") throw new CriError("InvalidArgument", "Exec", `${url} is for ports`)
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    stdin.resume()
    const closed = Promise.withResolvers<void>()
    const status =
      what.kind === "exec"
        ? run(what.container, what.command, stdout, stderr)
        : follow(what.container, this.#files, stdout, closed.promise)
    return {
      protocol: "simulated",
      stdin,
      stdout,
      stderr,
      status,
      closed: closed.promise,
      resize: () => {},
      close() {
        for (const stream of [stdin, stdout, stderr]) stream.destroy()
        closed.resolve()
      },
    }
  }

  async portForward(urlOf: () => Promise<string>) {
    const url = await urlOf()
    const what = this.#take(url)
    if (what.kind !== "ports") throw new CriError("InvalidArgument", "PortForward", `${url} is for a command`)
    const closed = Promise.withResolvers<void>()
    return {
      open: (port: number) =>
        httpConnection(
          port,
          (request) => this.#network.fetch(request, { host: what.ip, port, timeoutMs: DIAL_MS }),
          () => this.#network.dial({ host: what.ip, port, timeoutMs: DIAL_MS }),
        ),
      closed: closed.promise,
      close: () => closed.resolve(),
    }
  }

  #take(url: string): Prepared {
    const what = this.#prepared.get(url)
    this.#prepared.delete(url)
    if (what === undefined) throw new CriError("NotFound", "Stream", `${url} was opened already`)
    return what
  }
}

async function run(
  container: SimulatedContainer,
  command: readonly string[],
  stdout: PassThrough,
  stderr: PassThrough,
): Promise<CommandStatus> {
  try {
    const result = await container.exec(command)
    stdout.end(result.stdout)
    stderr.end(result.stderr)
    return exitCodeStatus(result.exitCode)
  } catch (err) {
    stdout.end()
    stderr.end()
    return failureStatus(errorMessage(err))
  }
}

/** Writes to `stdout` what the container writes from now on. */
function follow(
  container: SimulatedContainer,
  files: MemoryFiles,
  stdout: PassThrough,
  closed: Promise<void>,
): Promise<CommandStatus> {
  const { promise, resolve } = Promise.withResolvers<CommandStatus>()
  let seen = files.get(container.logPath)?.length ?? 0
  const off = container.onLog(() => {
    const text = files.get(container.logPath) ?? ""
    for (const line of text.slice(seen).split("\n"))
      if (line !== "") stdout.write(`${line.split(" ").slice(3).join(" ")}\n`)
    seen = text.length
    if (container.running) return
    stdout.end()
    resolve(exitCodeStatus(container.exitCode))
  })
  void closed.then(() => {
    off()
    resolve(exitCodeStatus(0))
  })
  return promise
}
