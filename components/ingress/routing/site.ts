import type { SecureContext } from "node:tls"
import type { IncomingRequest } from "../messages/messages.ts"
import { moreSpecific } from "./host-map.ts"
import type { BackendRef, Refusal, Target } from "./target.ts"

/** The result of routing a request. */
export interface RouteMatch {
  /** The host or pattern that matched. */
  readonly host: string
  /**
   * The creation time of the oldest object that names this host. Of two routers with the same host the older one wins.
   */
  readonly since: string
  readonly target: Target | Refusal
}

/** The result of a look-up by the TLS server name (SNI). */
export interface NameMatch {
  readonly host: string
  readonly since: string
  /** The certificate; undefined for the default certificate. */
  readonly context?: SecureContext | undefined
  /** The backends to one of which the connection is passed without decrypting it. */
  readonly passthrough?: Passthrough
}

export interface Passthrough {
  readonly backends: readonly { readonly weight: number; readonly to: BackendRef | undefined }[]
}

/** Routes requests by host and path, and TLS connections by server name. */
export interface Router {
  /** `path` is normalized by `normalPath`. */
  find(request: IncomingRequest, path: string): RouteMatch | undefined
  findName(name: string): NameMatch | undefined
  /** Whether a rule names the host, itself or by a pattern. */
  names(host: string): boolean
}

/** A port at one or all addresses, with the router of its requests. */
export interface Site {
  /** The address of this machine; undefined for all addresses that no other site of the port names. */
  readonly address: string | undefined
  /** 0 lets the kernel choose, in tests. */
  readonly port: number
  readonly protocol: "http" | "tls"
  readonly router: Router
  /** How the owner can choose another port, such as "set --ingress-http-port": the end of an error text. */
  readonly mend: string
}

/** Routes by the sites of one port and protocol. At an address the more specific host wins, then the older object. */
export class SiteRouter {
  readonly #shared: readonly Router[]
  readonly #byAddress: ReadonlyMap<string, readonly Router[]>

  constructor(sites: readonly Site[]) {
    const byAddress = Map.groupBy(sites, ({ address }) => address)
    this.#shared = (byAddress.get(undefined) ?? []).map(({ router }) => router)
    this.#byAddress = new Map(
      [...byAddress].flatMap(([address, own]) =>
        address === undefined ? [] : [[address, own.map(({ router }) => router)] as const],
      ),
    )
  }

  find(request: IncomingRequest, path: string): Target | Refusal {
    const found = best(this.#at(request.origin.address), (router) => router.find(request, path))
    return found?.target ?? { status: 404, reason: "no rule is for this host and path" }
  }

  findName(address: string, name: string): NameMatch | undefined {
    return best(this.#at(address), (router) => router.findName(name))
  }

  names(address: string, host: string): boolean {
    return this.#at(address).some((router) => router.names(host))
  }

  #at(address: string): readonly Router[] {
    return this.#byAddress.get(address) ?? this.#shared
  }
}

function best<F extends { readonly host: string; readonly since: string }>(
  routers: readonly Router[],
  find: (router: Router) => F | undefined,
): F | undefined {
  let best: F | undefined
  for (const router of routers) {
    const found = find(router)
    if (found === undefined) continue
    if (best === undefined || moreSpecific(found.host, best.host)) best = found
    else if (found.host === best.host && found.since < best.since) best = found
  }
  return best
}
