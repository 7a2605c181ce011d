import { EndpointSlice, SERVICE_NAME } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Objects } from "../cacher/objects.ts"
import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { RemoteService } from "./api-services.ts"
import type { Ask, ExtensionAnswer } from "./ask.ts"
import { UnreachableServer, type ExtensionConnections } from "./connections.ts"
import { AGGREGATOR, CHECK_TIMEOUT_MS, MOST_DISCOVERY_BYTES } from "./discovery.ts"

/** How many attempts one check makes, since a Service may have several servers of which one may be healthy. */
const ATTEMPTS = 5

/** The result of a check, in the form of the condition Available. */
export interface Finding {
  readonly status: "True" | "False"
  readonly reason: string
  readonly message: string
}

export const PASSED: Finding = { status: "True", reason: "Passed", message: "all checks passed" }

/**
 * Returns why no connection to the Service of an APIService is possible, according to the Service and its
 * EndpointSlices; undefined when one is.
 */
export function objectsFinding(
  { spec: { service } }: RemoteService,
  objects: Pick<Objects, "get" | "list">,
): Finding | undefined {
  const { namespace = "", name = "", port } = service
  const place = `service/${name} in ${JSON.stringify(namespace)}`
  const found = objects.get(Service, { namespace, name })
  if (found === undefined) return not("ServiceNotFound", `${place} is not present`)
  if ((found.spec.type ?? "ClusterIP") !== "ClusterIP") return undefined
  const portName = found.spec.ports?.find((one) => one.port === port)
  if (portName === undefined) return not("ServicePortError", `${place} is not listening on port ${port}`)
  const slices = objects
    .list(EndpointSlice, namespace)
    .filter(({ metadata }) => metadata.labels?.[SERVICE_NAME] === name)
  if (slices.length === 0) return not("EndpointsNotFound", `cannot find endpointslices for ${place}`)
  const wanted = portName.name ?? ""
  return slices.some((slice) => hasEndpoint(slice, wanted))
    ? undefined
    : not("MissingEndpoints", `endpointslices for ${place} have no addresses with port name ${JSON.stringify(wanted)}`)
}

const hasEndpoint = ({ endpoints, ports }: EndpointSlice, portName: string): boolean =>
  (endpoints ?? []).some(({ conditions }) => conditions.ready !== false) &&
  (ports ?? []).some(({ name, port }) => name === portName && port !== undefined)

/**
 * Requests discovery of the APIService's version from its server. Returns the response, or why the server is not
 * available. Source: kube-aggregator pkg/controllers/status/remote.
 */
export async function serverFinding(
  service: RemoteService,
  { ask, connections }: { readonly ask: Ask; readonly connections: ExtensionConnections },
): Promise<ExtensionAnswer | Finding> {
  try {
    return await attempt(service, ask, connections)
  } catch {
    const others = Array.from({ length: ATTEMPTS - 1 }, () => attempt(service, ask, connections))
    return Promise.any(others).catch((err: AggregateError) => not("FailedDiscoveryCheck", lastOf(err).message))
  }
}

const lastOf = ({ errors }: AggregateError): Error => errors[errors.length - 1] as Error

async function attempt(service: RemoteService, ask: Ask, connections: ExtensionConnections): Promise<ExtensionAnswer> {
  const { group = "", version = "" } = service.spec
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  const url = `https://${hostOf(service, connections)}${path}`
  const failing = (why: string): Error => new Error(`failing or missing response from ${url}: ${why}`)
  let answer: ExtensionAnswer
  try {
    answer = await ask(service, {
      path,
      user: AGGREGATOR,
      timeoutMs: CHECK_TIMEOUT_MS,
      mostBytes: MOST_DISCOVERY_BYTES,
    })
  } catch (err) {
    if (err instanceof UnreachableServer) throw err
    throw failing(`Get ${JSON.stringify(url)}: ${(err as Error).message}`)
  }
  if (answer.code < 200 || answer.code >= 300) throw failing(`bad status from ${url}: ${answer.code}`)
  return answer
}

/**
 * Returns `host:port` when the Service has an address; the name of the Service when a function takes the server's
 * place.
 */
function hostOf(service: RemoteService, connections: ExtensionConnections): string {
  try {
    const { host, port } = connections.addressOf(service)
    return joinHostPort(host, port)
  } catch {
    return `${service.spec.service.name}.${service.spec.service.namespace}.svc:${service.spec.service.port}`
  }
}

const not = (reason: string, message: string): Finding => ({ status: "False", reason, message })
