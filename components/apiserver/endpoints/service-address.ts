import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ObjectReader } from "../cacher/objects.ts"

/** The address for connections to a Service. */
export interface ServiceAddress {
  /** An IP address, or a DNS name for an ExternalName Service. */
  readonly host: string
  readonly port: number
}

/**
 * Returns the address of a Service for this server, which is its cluster IP; upstream's error text when there is none
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
