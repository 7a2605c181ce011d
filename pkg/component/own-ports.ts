/** A port on which a part of this program listens at addresses of this machine. */
export interface OwnPort {
  readonly port: number
  readonly protocol: "TCP" | "UDP"
  /** The part that listens there, such as "the kubelet". */
  readonly holder: string
}

/** A host port that a pod asks for. */
interface WantedPort {
  readonly port: number
  readonly protocol: string
}

/**
 * The annotation of a Node with the ports that pods cannot have there, such as `6443/TCP,10250/TCP`. The kubelet writes
 * it, the scheduler reads it.
 */
export const OWN_PORTS = "k3ts.io/own-ports"

/**
 * The ports of this machine on which parts of this program listen. Pods, Services and Gateways cannot have them:
 * traffic to a host port, a node port or an external address is redirected before it reaches a listener.
 */
export class OwnPorts {
  readonly #always: readonly OwnPort[]
  readonly #more = new Map<string, readonly OwnPort[]>()
  readonly #listeners = new Set<() => void>()

  /** `always` are the ports on which the program listens from its start to its end. */
  constructor(always: readonly OwnPort[] = []) {
    this.#always = always
  }

  /** Sets the ports that a part has opened, in place of those that it had before. */
  set(part: string, ports: readonly OwnPort[]): void {
    const before = this.text
    if (ports.length === 0) this.#more.delete(part)
    else this.#more.set(part, ports)
    if (this.text !== before) for (const listener of this.#listeners) listener()
  }

  /** Returns all ports, each once, in ascending order. */
  get all(): readonly OwnPort[] {
    const all = [...this.#always, ...[...this.#more.values()].flat()]
    return [...new Map(all.toReversed().map((each) => [keyOf(each), each])).values()].sort(
      (a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1),
    )
  }

  /** Returns the ports as the value of the annotation. */
  get text(): string {
    return this.all.map(keyOf).join(",")
  }

  /** Returns why a pod cannot have its host ports; undefined when no part of this program listens there. */
  problemOf(wanted: readonly WantedPort[]): string | undefined {
    if (wanted.length === 0) return undefined
    const held = this.all.find((own) => wanted.some((each) => keyOf(each) === keyOf(own)))
    return held === undefined ? undefined : `${keyOf(held)} belongs to ${held.holder}`
  }

  /** Calls `listener` after each change, until the function that it returns is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

const keyOf = ({ port, protocol }: WantedPort): string => `${port}/${protocol}`

/** Returns the first of the host ports that a Node's annotation reserves, such as `6443/TCP`; undefined for none. */
export function ownPortAmong(
  annotations: Readonly<Record<string, string>> | undefined,
  wanted: readonly WantedPort[],
): string | undefined {
  const text = annotations?.[OWN_PORTS]
  return text === undefined ? undefined : wanted.map(keyOf).find((key) => `,${text},`.includes(`,${key},`))
}
