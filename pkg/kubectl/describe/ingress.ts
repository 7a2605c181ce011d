import type { Service } from "../../api/core/v1/service/service.ts"
import type { Ingress, IngressBackend, IngressTLS } from "../../api/networking/v1/ingress.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { Describer, Describing } from "./describing.ts"
import { addressesText, slicesOf } from "./endpoint-addresses.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { SERVICES } from "./service.ts"

const INGRESSES = { group: "networking.k8s.io", version: "v1", resource: "ingresses" }

export const describeIngress: Describer = async (describing, namespace, name) => {
  const ingress = await describing.client.get<Ingress>(INGRESSES, namespace, name)
  const events = await eventsOf(describing, ingress)
  const { metadata, spec } = ingress
  const defaultBackend = spec.defaultBackend
    ? await backendText(describing, namespace, spec.defaultBackend)
    : "<default>"
  const rules = await rulesOf(describing, ingress)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    describeLabels(w, "Labels", metadata.labels)
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Address:", addressesOf(ingress))
    w.row(0, "Ingress Class:", spec.ingressClassName ?? "<none>")
    w.row(0, "Default backend:", defaultBackend)
    describeTLS(w, spec.tls)
    w.write(0, "Rules:\n  Host\tPath\tBackends\n")
    w.row(1, "----", "----", "--------")
    for (const { host, paths } of rules) {
      w.write(1, `${host}\t\n`)
      for (const { path, backend } of paths) w.row(2, "", `${path} `, backend)
    }
    if (rules.length === 0) w.row(1, "*", "*", defaultBackend)
    describeAnnotations(w, "Annotations", metadata.annotations)
    describeEvents(w, events, describing.now())
  })
}

/** Returns the addresses of the load balancer, without duplicates. */
function addressesOf({ status }: Ingress): string {
  const addresses = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "")
  return [...new Set(addresses.filter((address) => address !== ""))].sort().join(",")
}

function describeTLS(w: PrefixWriter, tls: readonly IngressTLS[] | undefined = []): void {
  if (tls.length > 0) w.row(0, "TLS:")
  for (const { secretName = "", hosts = [] } of tls)
    w.row(1, secretName === "" ? `SNI routes ${hosts.join(",")}` : `${secretName} terminates ${hosts.join(",")}`)
}

interface Rule {
  readonly host: string
  readonly paths: readonly { readonly path: string; readonly backend: string }[]
}

/** Returns the rules of an Ingress with the endpoints of their backends, asked for in the order of the rules. */
async function rulesOf(describing: Describing, { metadata, spec }: Ingress): Promise<readonly Rule[]> {
  const rules: Rule[] = []
  for (const { host = "", http } of spec.rules ?? []) {
    if (!http) continue
    const paths: { path: string; backend: string }[] = []
    for (const { path = "", backend } of http.paths)
      paths.push({ path, backend: await backendText(describing, metadata.namespace ?? "", backend) })
    rules.push({ host: host || "*", paths })
  }
  return rules
}

/** Returns a backend with the endpoints of its Service. */
async function backendText(describing: Describing, namespace: string, backend: IngressBackend): Promise<string> {
  const { service, resource } = backend
  if (service) {
    const port = service.port?.number || service.port?.name || ""
    const name = `${service.name}:${port}`
    try {
      const { items } = await slicesOf(describing, namespace, service.name)
      const { spec } = await describing.client.get<Service>(SERVICES, namespace, service.name)
      const used = (spec.ports ?? []).findLast((one) => port !== "" && (one.port === port || one.name === port))
      return `${name} (${addressesText(items, used?.name ?? "")})`
    } catch (err) {
      return `${name} (<error: ${errorMessage(err)}>)`
    }
  }
  if (!resource) return ""
  return `APIGroup: ${resource.apiGroup ?? "<none>"}, Kind: ${resource.kind}, Name: ${resource.name}`
}
