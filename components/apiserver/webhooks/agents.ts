import { Agent } from "node:https"
import { trustingBundle } from "../../../pkg/pki/trust.ts"

/** Where connections go, and which CA certificates are trusted there. */
export interface Place {
  /** Host name or address, followed by the port unless it is 443. */
  readonly host: string
  /** CA certificates (PEM, in base64); when empty, those of the system. */
  readonly caBundle: string
  /** The client certificate that is shown there. All calls of one host show the same. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

/** The most places to which connections are kept open. */
const MOST_PLACES = 200
/** The most connections to one place. */
const MOST_SOCKETS = 64

interface Kept {
  readonly agent: Agent
  /** Calls in progress. */
  calls: number
  /** The agent was evicted in favour of another place; its connections close when its last call ends. */
  isLeaving: boolean
}

/**
 * Keeps connections to webhooks open between calls. Each place has its own connections, so that a slow webhook delays
 * only its own callers. A new place evicts the least recently used one, whose calls in progress continue.
 */
export class Agents {
  readonly #kept = new Map<string, Kept>()

  /** Runs a call with the connections of its place. */
  async use<T>(place: Place, call: (agent: Agent) => Promise<T>): Promise<T> {
    const kept = this.#of(place)
    kept.calls++
    try {
      return await call(kept.agent)
    } finally {
      kept.calls--
      if (kept.isLeaving && kept.calls === 0) kept.agent.destroy()
    }
  }

  #of({ host, caBundle, certificate }: Place): Kept {
    const key = `${host} ${caBundle}`
    const known = this.#kept.get(key)
    // The last entry of the map is the one used most recently.
    this.#kept.delete(key)
    const kept = known ?? { agent: newAgent(caBundle, certificate), calls: 0, isLeaving: false }
    this.#kept.set(key, kept)
    if (this.#kept.size > MOST_PLACES) {
      const [oldest] = this.#kept
      this.#kept.delete(oldest![0])
      oldest![1].isLeaving = true
      if (oldest![1].calls === 0) oldest![1].agent.destroy()
    }
    return kept
  }
}

const newAgent = (caBundle: string, certificate: Place["certificate"]): Agent =>
  new Agent({ keepAlive: true, maxSockets: MOST_SOCKETS, ...trustingBundle(caBundle), ...certificate })
