/** How long a probed server may take to answer, in milliseconds. */
const PROBE_MS = 2000

/**
 * Sends a request to a server that may have failed. Resolves when the server answers, with any status; rejects when it
 * does not.
 */
export type Probe = (server: string, timeoutMs: number) => Promise<void>

/**
 * The servers of one cluster. All transports of this process use the same server until it fails. Addresses are URLs
 * such as `https://192.0.2.1:6443`.
 */
export class ServerList {
  /**
   * The address that the user gave. It stays in the list even when the cluster does not name it, as that of a load
   * balancer.
   */
  readonly #given: string
  readonly #probe: Probe
  readonly #listeners = new Set<(server: string) => void>()
  readonly #returnListeners = new Set<() => void>()
  readonly #inDoubt = new Set<string>()
  /** Whether a server has failed since the last answer of any server. */
  #hasFailed = false
  #known: readonly string[] = []
  #current: string

  constructor(given: string, probe: Probe) {
    this.#given = given
    this.#probe = probe
    this.#current = given
  }

  /** The server to send requests to. */
  get current(): string {
    return this.#current
  }

  get all(): readonly string[] {
    return this.#known.includes(this.#given) ? this.#known : [...this.#known, this.#given]
  }

  /**
   * Replaces the servers by those that the cluster names now. The current one stays if it is among them, or if the user
   * gave it.
   */
  set(known: readonly string[]): void {
    this.#known = known
    if (!this.all.includes(this.#current)) this.#current = this.all[0]!
  }

  /** Makes the next server the current one if `server` is the current one, and calls the listeners of `onFailed`. */
  failed(server: string): void {
    this.refused(server)
    for (const listener of this.#listeners) listener(server)
  }

  /**
   * Makes the next server the current one if `server` is the current one. Requests to `server` that are in progress
   * continue.
   */
  refused(server: string): void {
    this.#hasFailed = true
    if (server === this.#current) this.#current = this.all[(this.all.indexOf(server) + 1) % this.all.length]!
  }

  /** Called for each request that a server has answered. Calls the listeners of `onReturned` if a server had failed. */
  answered(): void {
    if (!this.#hasFailed) return
    this.#hasFailed = false
    for (const listener of this.#returnListeners) listener()
  }

  /** Probes a server that is slow. If the probe fails, the server has failed. */
  suspect(server: string): void {
    if (this.#inDoubt.has(server)) return
    this.#inDoubt.add(server)
    this.#probe(server, PROBE_MS)
      .catch(() => this.failed(server))
      .finally(() => this.#inDoubt.delete(server))
      .catch(() => undefined)
  }

  /** Calls `listener` for each server that fails. Returns a function that ends this. */
  onFailed(listener: (server: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
  /** Calls `listener` when a server answers after one has failed. Returns a function that ends this. */
  onReturned(listener: () => void): () => void {
    this.#returnListeners.add(listener)
    return () => void this.#returnListeners.delete(listener)
  }
}
