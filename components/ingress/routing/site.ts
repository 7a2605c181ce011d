import type { SecureContext } from "node:tls"
import type { IncomingRequest } from "../proxy/messages.ts"
import { moreSpecific } from "./host-map.ts"
import type { BackendRef, Refusal, Target } from "./target.ts"

/** What a router has for a request. */
export interface Found {
  /** The host, or its pattern, by which it was found. */
  readonly host: string
  /** When the oldest object that names this host was created. Of two routers with the same host the older one wins. */
  readonly since: string
  readonly target: Target | Refusal
}

/** What is told the server by a client that asks for a name over TLS (SNI). */
export interface FoundName {
  readonly host: string
  readonly since: string
  /** How the connection is served here; undefined for the certificate that nobody has signed. */
  readonly context?: SecureContext | undefined
  /** The connection is handed to one of these without being decrypted. */
  readonly passthrough?: Passthrough
}

export interface Passthrough {
  readonly backends: readonly { readonly weight: number; readonly to: BackendRef | undefined }[]
}

/** Routes by host and path, and by the name that TLS asks for. */
export interface Router {
  /** `path` as `normalPath` gives it. */
  find(request: IncomingRequest, path: string): Found | undefined
  findName(name: string): FoundName | undefined
}

/** A port that is served, and the router of its requests. */
export interface Site {
  /** Address of this machine at which it is served; undefined for each that no other site of the port names. */
  readonly address: string | undefined
  /** 0 for any, in tests. */
  readonly port: number
  readonly protocol: "http" | "tls"
  readonly router: Router
  /** What its owner can do to have another port, such as "set --ingress-http-port". */
  readonly mend: string
}

/** What the sites of one port and protocol have for an address: the more specific host wins, then the older object. */
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

  findName(address: string, name: string): FoundName | undefined {
    return best(this.#at(address), (router) => router.findName(name))
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
