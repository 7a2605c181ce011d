import { nearest } from "../../names/suggest.ts"
import { finding, type Finding } from "../answer.ts"
import { command } from "../command.ts"
import { askThrough, type Ward } from "../doctor.ts"
import { certificateFinding } from "../policy/certificate.ts"
import { refOf, SECRETS, SERVICES } from "../reading/kinds.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { GATEWAY_GROUP, gatewayObjects, isGranted, type GatewayObject, type Reference } from "./gateway-objects.ts"
import { parentFindings } from "./gateway-parents.ts"

export const isOfGatewayApi = ({ apiVersion }: KubeObject): boolean => apiVersion.startsWith(`${GATEWAY_GROUP}/`)

/** Whether an object is a route of Gateway API, which each controller that serves it says in its status. */
export const isRoute = (object: KubeObject): boolean => isOfGatewayApi(object) && object.kind.endsWith("Route")

/** Returns what a Gateway or a route names and does not get: no controller says so of what it does not serve. */
export async function gatewayFindings(object: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const one = object as GatewayObject
  const findings = [
    ...(await classFindings(one, ward)),
    ...(await certificateFindings(one, ward)),
    ...(await parentFindings(one, ward)),
  ]
  const namespace = one.metadata.namespace ?? ""
  const seen = new Set<string>()
  for (const { backendRefs } of one.spec?.rules ?? [])
    for (const backend of backendRefs ?? []) {
      const key = `${backend.namespace ?? namespace}/${backend.name}:${backend.port ?? ""}`
      if ((backend.kind ?? "Service") !== "Service" || seen.has(key)) continue
      seen.add(key)
      for (const found of await backendFindings(backend, one, ward)) findings.push(found)
    }
  return findings
}

async function classFindings({ spec }: GatewayObject, ward: Ward): Promise<readonly Finding[]> {
  const wanted = spec?.gatewayClassName
  const classes = wanted === undefined ? undefined : await gatewayObjects("GatewayClass", undefined, ward)
  const names = classes?.map(({ metadata }) => metadata.name ?? "")
  if (wanted === undefined || names === undefined || names.includes(wanted)) return []
  const near = nearest(wanted, names)
  const there =
    near === undefined ? (names.length === 0 ? "" : `; there are ${names.join(", ")}`) : `; there is ${near}`
  return [finding("gateway-class-missing", `GatewayClass ${wanted} does not exist: nobody serves it${there}`)]
}

/** Returns which certificates of the listeners there are not, or not for this Gateway. */
async function certificateFindings(gateway: GatewayObject, ward: Ward): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const { name: listener, tls, hostname } of gateway.spec?.listeners ?? [])
    for (const { kind = "Secret", name, namespace = gateway.metadata.namespace ?? "" } of tls?.certificateRefs ?? []) {
      if (kind !== "Secret") continue
      const secret = await ward.reader.get(SECRETS, namespace, name).catch(() => null)
      if (secret === undefined)
        findings.push(
          finding(
            "gateway-certificate-missing",
            `Secret ${name} with the certificate of listener ${listener} does not exist in namespace ${namespace}`,
            { hints: [command`kubectl create secret tls ${name} -n ${namespace} --cert=FILE --key=FILE`] },
          ),
        )
      if (!(await isGranted(gateway, { kind: "Secret", namespace, name }, ward)))
        findings.push(grantFinding(gateway, `listener ${listener} has its certificate in`, "Secret", namespace, name))
      if (secret !== undefined && secret !== null) {
        const bad = certificateFinding(secret, ward.reader.now, hostname === undefined ? [] : [hostname])
        if (bad !== undefined) findings.push(bad)
      }
    }
  return findings
}

const grantFinding = (
  { kind, metadata }: GatewayObject,
  what: string,
  of: "Service" | "Secret",
  namespace: string,
  name: string,
): Finding =>
  finding(
    "reference-grant-missing",
    `${what} ${of} ${namespace}/${name}, and no ReferenceGrant in namespace ${namespace} lets kind ${kind} of ` +
      `namespace ${metadata.namespace ?? ""} name it`,
    {
      hints: [
        `create a ReferenceGrant in namespace ${namespace} from kind ${kind} of namespace ${metadata.namespace ?? ""} ` +
          `to ${of} ${name}`,
      ],
    },
  )

async function backendFindings(
  { namespace: named, name, port }: Reference,
  route: GatewayObject,
  ward: Ward,
): Promise<readonly Finding[]> {
  const namespace = named ?? route.metadata.namespace ?? ""
  const service = await ward.reader.get(SERVICES, namespace, name)
  if (service === undefined)
    return [finding("route-service-missing", `it leads to Service ${namespace}/${name}, which does not exist`)]
  if (!(await isGranted(route, { kind: "Service", namespace, name }, ward)))
    return [grantFinding(route, "it leads to", "Service", namespace, name)]
  const ports = (service.spec.ports ?? []).map((one) => one.port)
  if (port !== undefined && !ports.includes(port))
    return [finding("route-service-port", `it leads to port ${port} of Service ${name}, which has ${ports.join(", ")}`)]
  return (await askThrough(ward, refOf(service))).findings
}
