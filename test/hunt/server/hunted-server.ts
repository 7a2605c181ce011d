import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createHttpsTransport, type HttpsTransport } from "../../../pkg/client/https.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { startServer, type TestServer } from "../../harness/server.ts"

/** A server with a simulated node that is killed and started again on its data, at the same address. */
export class HuntedServer implements AsyncDisposable {
  readonly port: number
  readonly client: Client
  readonly token: string
  readonly #dataDir: string
  readonly #transport: HttpsTransport
  #server: TestServer
  #down = 0
  #moving: Promise<void> = Promise.resolve()

  private constructor(server: TestServer, port: number, dataDir: string) {
    this.#server = server
    this.#dataDir = dataDir
    this.port = port
    this.token = server.token
    this.#transport = createHttpsTransport({ config: loadKubeconfig(server.kubeconfig), userAgent: "hunt/1" })
    this.client = newClient(this.#transport)
  }

  static async start(): Promise<HuntedServer> {
    const [port, dataDir] = [await freePort(), mkdtempSync(join(tmpdir(), "k3ts-hunt-"))]
    return new HuntedServer(await launch(port, dataDir), port, dataDir)
  }

  /** Ends the process. Returns a function that starts it again; faults may overlap. */
  down(signal: "SIGKILL" | "SIGTERM"): () => Promise<void> {
    const wasUp = this.#down++ === 0
    if (wasUp) this.#moving = this.#moving.then(async () => void (await this.#server.kill(signal)))
    return () => {
      if (--this.#down > 0) return Promise.resolve()
      return (this.#moving = this.#moving.then(async () => {
        await this.#server[Symbol.asyncDispose]()
        this.#server = await launch(this.port, this.#dataDir)
      }))
    }
  }

  get residentMb(): number {
    return this.#server.residentMb()
  }

  output(): string {
    return this.#server.output()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport.close()
    await this.#moving
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}

const launch = (port: number, dataDir: string): Promise<TestServer> =>
  startServer({ agent: "simulated", dataDir, port, flags: ["--disable", "dns"] })
