import type { Secret } from "../../../pkg/api/core/v1/secret.ts"
import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import type { Certificate, Certificates } from "../certificates.ts"
import type { IncomingRequest } from "../proxy/messages.ts"
import { byAge, compile, type Compiled, type Problem } from "./compile.ts"
import type { Found, FoundName, Router } from "./site.ts"

/** A certificate, and since when an Ingress names it for its host. */
interface Named {
  readonly certificate: Certificate
  readonly since: string
}

/** Secrets by key, as far as they hold certificates. */
export interface Secrets {
  get(key: string): Secret | undefined
}

/** Routes by all Ingresses, and what is wrong with them. */
export function routeIngresses(
  ingresses: readonly Ingress[],
  secrets: Secrets,
  certificates: Certificates,
): { readonly router: Router; readonly problems: readonly Problem[] } {
  const compiled = compile(ingresses)
  const named = namedCertificates(ingresses, compiled.owners, secrets, certificates)
  return {
    router: new IngressRouter(compiled, named.byHost),
    problems: [...compiled.problems, ...named.problems],
  }
}

/** Every other name gets the certificate that nobody has signed, where no Gateway has one for it. */
const UNKNOWN_NAME: FoundName = { host: "", since: "9999" }

class IngressRouter implements Router {
  readonly #compiled: Compiled
  readonly #certificates: ReadonlyMap<string, Named>

  constructor(compiled: Compiled, certificates: ReadonlyMap<string, Named>) {
    this.#compiled = compiled
    this.#certificates = certificates
  }

  find({ host }: IncomingRequest, path: string): Found | undefined {
    const found = this.#compiled.table.find(host, path)
    if (found === undefined) return undefined
    return { ...found, since: this.#compiled.owners.get(found.host)?.since ?? "" }
  }

  findName(name: string): FoundName | undefined {
    const dot = name.indexOf(".")
    const patterns = dot > 0 ? [name, `*${name.slice(dot)}`] : [name]
    for (const host of patterns) {
      const named = this.#certificates.get(host)
      if (named !== undefined) return { host, since: named.since, context: named.certificate.context }
    }
    return UNKNOWN_NAME
  }
}

/** By host. A host whose Secret cannot be used, and every other name, has none here. */
function namedCertificates(
  ingresses: readonly Ingress[],
  owners: Compiled["owners"],
  secrets: Secrets,
  certificates: Certificates,
): { readonly byHost: ReadonlyMap<string, Named>; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const byHost = new Map<string, Named>()
  const claimed = new Map([...owners].map(([host, { namespace }]) => [host, namespace]))
  for (const ingress of [...ingresses].sort(byAge)) {
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
  return { byHost, problems }
}
