import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { EnvironmentVariable } from "../model/environment-variable.ts"

/** The service of the API server, whose address every container gets. */
const isApiServer = ({ metadata }: Service): boolean =>
  metadata.namespace === "default" && metadata.name === "kubernetes"

/**
 * Returns the environment variables with the addresses of services for containers of a namespace, in the forms of
 * Kubernetes and of Docker links: `WEB_SERVICE_HOST`, `WEB_PORT_80_TCP_ADDR` … Headless services have none. Source:
 * getServiceEnvVarMap in pkg/kubelet/kubelet_pods.go, pkg/kubelet/envvars.
 */
export function serviceVariables(
  services: readonly Service[],
  namespace: string,
  links: boolean,
): readonly EnvironmentVariable[] {
  const chosen = new Map<string, Service>()
  for (const service of services) {
    const { clusterIP = "" } = service.spec
    if (clusterIP === "" || clusterIP === "None") continue
    const name = service.metadata.name!
    if (isApiServer(service)) {
      // A service of that name in the pod's own namespace takes precedence.
      if (!chosen.has(name)) chosen.set(name, service)
    } else if (links && service.metadata.namespace === namespace) chosen.set(name, service)
  }
  return [...chosen.values()].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1)).flatMap(variablesOf)
}

function variablesOf({ metadata, spec: { clusterIP = "", ports = [] } }: Service): EnvironmentVariable[] {
  const prefix = variableName(metadata.name!)
  const first = ports[0]
  if (first === undefined) return [{ key: `${prefix}_SERVICE_HOST`, value: clusterIP }]
  const url = ({ protocol, port }: typeof first) => `${protocol.toLowerCase()}://${joinHostPort(clusterIP, port)}`
  return [
    { key: `${prefix}_SERVICE_HOST`, value: clusterIP },
    { key: `${prefix}_SERVICE_PORT`, value: String(first.port) },
    ...ports.flatMap(({ name, port }) =>
      name === undefined || name === ""
        ? []
        : [{ key: `${prefix}_SERVICE_PORT_${variableName(name)}`, value: String(port) }],
    ),
    { key: `${prefix}_PORT`, value: url(first) },
    ...ports.flatMap((port) => {
      const link = `${prefix}_PORT_${port.port}_${port.protocol.toUpperCase()}`
      return [
        { key: link, value: url(port) },
        { key: `${link}_PROTO`, value: port.protocol.toLowerCase() },
        { key: `${link}_PORT`, value: String(port.port) },
        { key: `${link}_ADDR`, value: clusterIP },
      ]
    }),
  ]
}

const variableName = (name: string): string => name.toUpperCase().replaceAll("-", "_")
