import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import type { Alone } from "../alone.ts"
import type { Certificate, Certificates } from "../certificates.ts"
import type { IncomingRequest } from "../messages/messages.ts"
import { byAge, type Compiled } from "./compile.ts"
import type { Problem } from "./problem.ts"
import type { RouteMatch, NameMatch, Router } from "./site.ts"

/** A certificate for a host, and the creation time of the Ingress that names it. */
interface Named {
  readonly certificate: Certificate
  readonly since: string
}

/** The Secrets that hold certificates, by key. */
export interface Secrets {
  get(key: string): Secret | undefined
}

/** Returns the router of all Ingresses, which are compiled, and the problems to report to their owners. */
export function routeIngresses(
  ingresses: readonly Ingress[],
  compiled: Compiled,
  secrets: Secrets,
  certificates: Certificates,
  alone: Pick<Alone, "run">,
): { readonly router: Router; readonly problems: readonly Problem[] } {
  const named = namedCertificates(ingresses, compiled.owners, secrets, certificates, alone)
  return {
    router: new IngressRouter(compiled, named.byHost),
    problems: [...compiled.problems, ...named.problems],
  }
}

/**
 * A server name without a certificate gets the default certificate. The late `since` lets a Gateway's listener for
 * every host win.
 */
const UNKNOWN_NAME: NameMatch = { host: "", since: "9999" }

class IngressRouter implements Router {
  readonly #compiled: Compiled
  readonly #certificates: ReadonlyMap<string, Named>

  constructor(compiled: Compiled, certificates: ReadonlyMap<string, Named>) {
    this.#compiled = compiled
    this.#certificates = certificates
  }

  find({ host }: IncomingRequest, path: string): RouteMatch | undefined {
    const found = this.#compiled.table.find(host, path)
    if (found === undefined) return undefined
    return { ...found, since: this.#compiled.owners.get(found.host)?.since ?? "" }
  }

  findName(name: string): NameMatch | undefined {
    const dot = name.indexOf(".")
    const patterns = dot > 0 ? [name, `*${name.slice(dot)}`] : [name]
    for (const host of patterns) {
      const named = this.#certificates.get(host)
      if (named !== undefined) return { host, since: named.since, context: named.certificate.context }
    }
    return UNKNOWN_NAME
  }

  names(host: string): boolean {
    const dot = host.indexOf(".")
    const { owners } = this.#compiled
    return host !== "" && (owners.has(host) || (dot > 0 && owners.has(`*${host.slice(dot)}`)))
  }
}

/** Returns the certificates by host. A host whose Secret cannot be used has none. */
function namedCertificates(
  ingresses: readonly Ingress[],
  owners: Compiled["owners"],
  secrets: Secrets,
  certificates: Certificates,
  alone: Pick<Alone, "run">,
): { readonly byHost: ReadonlyMap<string, Named>; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const byHost = new Map<string, Named>()
  const claimed = new Map([...owners].map(([host, { namespace }]) => [host, namespace]))
  const name = (ingress: Ingress): void => {
    const { namespace = "", creationTimestamp: since = "" } = ingress.metadata
    const tell = (message: string) => problems.push({ ingress, reason: "InvalidTLS", message })
    for (const { hosts = [], secretName = "" } of ingress.spec.tls ?? []) {
      if (secretName === "") continue
      const secret = secrets.get(`${namespace}/${secretName}`)
      const certificate =
        secret === undefined ? "does not exist, or is not of type kubernetes.io/tls" : certificates.of(secret)
      if (typeof certificate === "string") {
        tell(`Secret ${JSON.stringify(secretName)} ${certificate}: its hosts get the default certificate`)
        continue
      }
      const named = hosts.length > 0 ? hosts : (ingress.spec.rules ?? []).flatMap(({ host = "" }) => host || [])
      for (const host of named) {
        const owner = claimed.get(host) ?? namespace
        claimed.set(host, owner)
        if (owner !== namespace)
          tell(`host "${host}" belongs to an older Ingress in namespace ${owner}: its certificate is not used`)
        else if (!byHost.has(host)) byHost.set(host, { certificate, since })
      }
    }
  }
  for (const ingress of [...ingresses].sort(byAge))
    if (ingress.spec.tls !== undefined) alone.run("IngressTLS", ingress, () => name(ingress))
  return { byHost, problems }
}
