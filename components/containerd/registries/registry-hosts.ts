import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Random } from "../../../pkg/clock/random.ts"
import { readIfExists, replaceFile } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { configFor, credentials, HEADER, hostsFiles, type Credentials } from "./hosts.ts"
import type { Registries } from "./registries.ts"
import { endpointUrl } from "./registries.ts"
import { RewritingProxy } from "./rewriting-proxy.ts"

export interface RegistryHostsOptions {
  /** containerd's `config_path`. */
  readonly folder: string
  /** Undefined when there is no registries.yaml. */
  readonly registries: Registries | undefined
  readonly random: Random
  readonly log: Logger
}

const SECRET_BYTES = 16

/**
 * Brings registries.yaml to containerd: writes its hosts.toml files, and runs a proxy for each endpoint whose names of
 * repositories are rewritten.
 */
export class RegistryHosts {
  readonly #options: RegistryHostsOptions
  #proxies: readonly RewritingProxy[] = []

  constructor(options: RegistryHostsOptions) {
    this.#options = options
  }

  /**
   * Writes the files for containerd, and removes those of an earlier start. Resolves with the credentials for
   * containerd's configuration.
   * @throws Error when a user has written a hosts.toml for a registry that registries.yaml names too
   */
  async start(): Promise<Credentials> {
    const { folder, registries = { mirrors: {}, configs: {} }, random, log } = this.#options
    mkdirSync(folder, { recursive: true })
    this.#removeOwn()
    const proxies = new Map<string, RewritingProxy>()
    this.#proxies = []
    try {
      for (const [registry, { endpoint: endpoints, rewrite }] of Object.entries(registries.mirrors)) {
        if (Object.keys(rewrite).length === 0) continue
        for (const text of endpoints) {
          const endpoint = endpointUrl(text)!
          const proxy = new RewritingProxy({
            endpoint,
            tls: configFor(registries.configs, endpoint.host)?.tls,
            rewrite,
            secret: Buffer.from(random.bytes(SECRET_BYTES)).toString("hex"),
            log,
          })
          await proxy.start()
          this.#proxies = [...this.#proxies, proxy]
          proxies.set(`${registry} ${endpoint.href}`, proxy)
        }
      }
      for (const { folder: name, text } of hostsFiles(registries, (registry, url) =>
        proxies.get(`${registry} ${url.href}`),
      ))
        this.#write(name, text)
    } catch (err) {
      await this.stop()
      throw err
    }
    const detours = [...proxies].map(([key, { host }]) => [host, new URL(key.split(" ")[1]!).host] as const)
    return credentials(registries, new Map(detours))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()))
    this.#proxies = []
  }

  #write(name: string, text: string): void {
    const path = join(this.#options.folder, name)
    const file = join(path, "hosts.toml")
    if (existsSync(file))
      throw new Error(
        `Cannot configure the registry ${name}: both registries.yaml and ${file} do; remove one of the two`,
      )
    mkdirSync(path, { recursive: true })
    replaceFile(file, text, { mode: 0o600 })
  }

  #removeOwn(): void {
    const { folder } = this.#options
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      if (readIfExists(join(path, "hosts.toml"))?.startsWith(`${HEADER}\n`) === true)
        rmSync(path, { recursive: true, force: true })
    }
  }
}
