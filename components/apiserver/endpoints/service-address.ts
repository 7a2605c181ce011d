import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ObjectReader } from "../cacher/objects.ts"

/** Where connections to a Service go. */
export interface ServiceAddress {
  /** An IP address, or a name for DNS where the Service is one. */
  readonly host: string
  readonly port: number
}

/**
 * The address of a Service as this server reaches it, which is its cluster IP; a text, upstream's, where it has none
 * for the port. Source: apiserver pkg/util/proxy/proxy.go ResolveCluster.
 */
export function serviceAddress(
  { namespace, name, port }: { readonly namespace: string; readonly name: string; readonly port: number },
  objects: ObjectReader,
): ServiceAddress | string {
  const service = objects.get(Service, { namespace, name })
  if (service === undefined) return `service ${JSON.stringify(name)} not found`
  const { type, clusterIP = "", externalName = "", ports = [] } = service.spec
  if (type === "ExternalName") return { host: externalName, port }
  if (clusterIP === "" || clusterIP === "None") return 'cannot route to service with ClusterIP "None"'
  if (!ports.some((candidate) => candidate.port === port))
    return `no service port ${port} found for service ${JSON.stringify(name)}`
  return { host: clusterIP, port }
}
