import type { KubeObject } from "../../apimachinery/resource.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, type Finding } from "../answer.ts"
import { askThrough, type Ward } from "../doctor.ts"
import { refOf, SERVICES } from "../reading/kinds.ts"

const GROUP = "gateway.networking.k8s.io"

interface Reference {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name: string
  readonly port?: number
}

/** A Gateway or a route, as far as it names others. */
interface Referring extends KubeObject {
  readonly spec: {
    readonly gatewayClassName?: string
    readonly parentRefs?: readonly Reference[]
    readonly rules?: readonly { readonly backendRefs?: readonly Reference[] }[]
  }
}

export const isOfGatewayApi = ({ apiVersion }: KubeObject): boolean => apiVersion.startsWith(`${GROUP}/`)

/** Returns what a Gateway or a route names and does not get: no controller says so of what it does not serve. */
export async function gatewayFindings(object: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const { spec, metadata } = object as Referring
  const namespace = metadata.namespace ?? ""
  const findings: Finding[] = []
  if (spec.gatewayClassName !== undefined) {
    const missing = await missingOf("GatewayClass", undefined, spec.gatewayClassName, ward)
    if (missing !== undefined)
      findings.push(
        finding(
          "gateway-class-missing",
          `GatewayClass ${spec.gatewayClassName} does not exist: nobody serves it${missing}`,
        ),
      )
  }
  for (const { group = GROUP, kind = "Gateway", namespace: of = namespace, name } of spec.parentRefs ?? []) {
    if (group !== GROUP || kind !== "Gateway") continue
    const missing = await missingOf(kind, of, name, ward)
    if (missing !== undefined)
      findings.push(
        finding(
          "gateway-missing",
          `Gateway ${of}/${name}, to which it belongs, does not exist: nobody serves it${missing}`,
        ),
      )
  }
  const seen = new Set<string>()
  for (const { backendRefs } of spec.rules ?? [])
    for (const one of backendRefs ?? []) {
      const key = `${one.namespace ?? namespace}/${one.name}:${one.port ?? ""}`
      if ((one.kind ?? "Service") !== "Service" || seen.has(key)) continue
      seen.add(key)
      for (const found of await backendFindings(one, namespace, ward)) findings.push(found)
    }
  return findings
}

/** Returns what there is instead of an object that does not exist; undefined where it exists, or may not be read. */
async function missingOf(
  kind: string,
  namespace: string | undefined,
  name: string,
  { reader }: Ward,
): Promise<string | undefined> {
  const found = await reader.kindOf({ apiVersion: `${GROUP}/v1`, kind })
  const all = found === undefined ? undefined : await reader.listIfAllowed(found, namespace)
  const names = all?.map(({ metadata }) => metadata.name ?? "")
  if (names === undefined || names.includes(name)) return undefined
  const near = nearest(name, names)
  return near === undefined ? (names.length === 0 ? "" : `; there are ${names.join(", ")}`) : `; there is ${near}`
}

async function backendFindings(
  { namespace, name, port }: Reference,
  own: string,
  ward: Ward,
): Promise<readonly Finding[]> {
  const service = await ward.reader.get(SERVICES, namespace ?? own, name)
  if (service === undefined)
    return [finding("route-service-missing", `it leads to Service ${namespace ?? own}/${name}, which does not exist`)]
  const ports = (service.spec.ports ?? []).map((one) => one.port)
  if (port !== undefined && !ports.includes(port))
    return [finding("route-service-port", `it leads to port ${port} of Service ${name}, which has ${ports.join(", ")}`)]
  return (await askThrough(ward, refOf(service))).findings
}
