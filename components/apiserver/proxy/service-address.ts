import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ObjectReader } from "../cacher/objects.ts"

/** The address for connections to a Service. */
export interface ServiceAddress {
  /** An IP address, or a DNS name for an ExternalName Service. */
  readonly host: string
  readonly port: number
}

/**
 * Returns the address at which this server reaches a Service: its cluster IP, or the name of an ExternalName. Returns
 * upstream's error text when the Service has no such address or port. Source: apiserver pkg/util/proxy/proxy.go
 * ResolveCluster.
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
