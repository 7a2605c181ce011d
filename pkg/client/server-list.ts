/** How long a server may take to show that it is alive, in milliseconds. */
const PROBE_MS = 2000

/** What can be asked of a server in doubt. Resolves when it answers, whatever it says; rejects when it does not. */
export type Probe = (server: string, timeoutMs: number) => Promise<void>

/**
 * The servers of one cluster, of which all transports of this process use the same one, until it fails. Addresses are
 * URLs such as `https://192.0.2.1:6443`.
 */
export class ServerList {
  /** The address that the user gave: it stays, though no server may know it, as that of a load balancer. */
  readonly #given: string
  readonly #probe: Probe
  readonly #listeners = new Set<(server: string) => void>()
  readonly #returnListeners = new Set<() => void>()
  readonly #inDoubt = new Set<string>()
  /** Whether a server has failed since one has answered. */
  #hasFailed = false
  #known: readonly string[] = []
  #current: string

  constructor(given: string, probe: Probe) {
    this.#given = given
    this.#probe = probe
    this.#current = given
  }

  /** The server to ask now. */
  get current(): string {
    return this.#current
  }

  get all(): readonly string[] {
    return this.#known.includes(this.#given) ? this.#known : [...this.#known, this.#given]
  }

  /** Takes the servers that the cluster names now. The current one stays if it is among them, or was given. */
  set(known: readonly string[]): void {
    this.#known = known
    if (!this.all.includes(this.#current)) this.#current = this.all[0]!
  }

  /** Goes on to the next server if this is the current one, and tells those who use it. */
  failed(server: string): void {
    this.refused(server)
    for (const listener of this.#listeners) listener(server)
  }

  /** Goes on to the next server if this is the current one; what it is still answering may go on. */
  refused(server: string): void {
    this.#hasFailed = true
    if (server === this.#current) this.#current = this.all[(this.all.indexOf(server) + 1) % this.all.length]!
  }

  /** Called for each request that a server has answered: tells those who wait for a server, if one had failed. */
  answered(): void {
    if (!this.#hasFailed) return
    this.#hasFailed = false
    for (const listener of this.#returnListeners) listener()
  }

  /** Asks a server that is slow whether it is alive; it has failed if it is not. */
  suspect(server: string): void {
    if (this.#inDoubt.has(server)) return
    this.#inDoubt.add(server)
    this.#probe(server, PROBE_MS)
      .catch(() => this.failed(server))
      .finally(() => this.#inDoubt.delete(server))
      .catch(() => undefined)
  }

  /** Calls `listener` for each server that fails, until the function that it returns is called. */
  onFailed(listener: (server: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
  /** Calls `listener` when a server answers after one has failed, until the function that it returns is called. */
  onReturned(listener: () => void): () => void {
    this.#returnListeners.add(listener)
    return () => void this.#returnListeners.delete(listener)
  }
}
