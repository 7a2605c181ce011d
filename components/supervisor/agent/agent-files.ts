import { join } from "node:path"
import { mkdirSync } from "node:fs"
import { readIfExists, replaceFile } from "../../../pkg/files/files.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { belongTogether, type CertificatePair } from "../../../pkg/pki/certificate.ts"
import { readPair, writePair } from "../../../pkg/pki/pair-files.ts"
import { AgentConfig } from "../agent-config.ts"
import { SERVING } from "../supervisor-paths.ts"

/** What an agent has learned from a server. It is kept on disk, so that the agent can start while no server answers. */
export interface Remembered {
  /** PEM of the CA of the API servers. */
  readonly serverCa: string
  readonly config: AgentConfig
}

/**
 * The files of an agent below `<data-dir>/agent`: a certificate for each kind, the CA of the servers, the configuration
 * of the cluster. Source of the names: k3s pkg/agent/config/config.go.
 */
export class AgentFiles {
  readonly #dir: string
  readonly #passwordFile: string

  /**
   * `passwordFile` is outside of the data directory: when the data are removed, the machine can still prove that its
   * node name is its own. Source: k3s keeps it in /etc/rancher/node/password.
   */
  constructor(dataDir: string, passwordFile: string) {
    this.#dir = join(dataDir, "agent")
    this.#passwordFile = passwordFile
    mkdirSync(this.#dir, { recursive: true, mode: 0o755 })
  }

  certificate(kind: string): CertificatePair | undefined {
    const { certPem, keyPem } = readPair(this.#dir, nameOf(kind))
    const pair = certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem }
    return pair !== undefined && belongTogether(pair) ? pair : undefined
  }

  keepCertificate(kind: string, pair: CertificatePair): void {
    writePair(this.#dir, nameOf(kind), pair)
  }

  remembered(): Remembered | undefined {
    const [serverCa, text] = [readIfExists(join(this.#dir, "server-ca.crt")), readIfExists(this.#configFile)]
    if (serverCa === undefined || text === undefined) return undefined
    try {
      return { serverCa, config: AgentConfig.parse(JSON.parse(text)) }
    } catch {
      // A file of another version is treated as missing: the server is asked anyway.
      return undefined
    }
  }

  remember({ serverCa, config }: Remembered): void {
    replaceFile(join(this.#dir, "server-ca.crt"), serverCa, { mode: 0o644 })
    replaceFile(join(this.#dir, "client-ca.crt"), config.clientCa, { mode: 0o644 })
    replaceFile(this.#configFile, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 })
  }

  /** Returns the password by which this machine proves that its node name is its own. Makes one at the first call. */
  password(random: Random): string {
    const known = readIfExists(this.#passwordFile)?.trim() ?? ""
    if (known !== "") return known
    const made = Buffer.from(random.bytes(16)).toString("hex")
    mkdirSync(join(this.#passwordFile, ".."), { recursive: true, mode: 0o755 })
    replaceFile(this.#passwordFile, `${made}\n`, { mode: 0o600, sync: true })
    return made
  }

  get #configFile(): string {
    return join(this.#dir, "cluster.json")
  }
}

const nameOf = (kind: string): string => (kind === SERVING ? "serving-kubelet" : `client-${kind}`)
