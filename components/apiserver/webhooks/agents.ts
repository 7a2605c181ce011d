import { Agent } from "node:https"
import { rootCertificates } from "node:tls"

/** Where connections lead, and which certificates are trusted there. */
export interface Place {
  /** Name or address, with the port where it is not 443. */
  readonly host: string
  /** Certificates (PEM) in base64; those of the system where this is empty. */
  readonly caBundle: string
}

/** Places whose connections are kept open. */
const MOST_PLACES = 200
/** Connections to one place. */
const MOST_SOCKETS = 64

interface Kept {
  readonly agent: Agent
  /** Calls under way. */
  calls: number
  /** It gave way to another place, and ends with its last call. */
  isLeaving: boolean
}

/**
 * Connections to webhooks, which stay open between calls. Each place has its own, so that a slow webhook holds up only
 * those who ask it. The place that was asked longest ago gives way to a new one; its calls under way go on.
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

  #of({ host, caBundle }: Place): Kept {
    const key = `${host} ${caBundle}`
    const known = this.#kept.get(key)
    // Last in the map is who was asked last.
    this.#kept.delete(key)
    const kept = known ?? { agent: newAgent(caBundle), calls: 0, isLeaving: false }
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

function newAgent(caBundle: string): Agent {
  const pem = Buffer.from(caBundle, "base64").toString()
  return new Agent({
    keepAlive: true,
    maxSockets: MOST_SOCKETS,
    ca: pem.trim() === "" ? [...rootCertificates] : pem,
  })
}
