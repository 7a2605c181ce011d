import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import { through, type Ward } from "../doctor.ts"
import { refOf, SERVICES } from "../reading/kinds.ts"
import type { Unreached } from "../pod/host-words.ts"
import { localEndpointsFinding } from "./local-endpoints.ts"
import { serviceNamed } from "./names.ts"
import { flowFinding } from "./policies.ts"
import { podAddressFinding } from "./pod-address.ts"
import { podsOf } from "./service-pods.ts"

const isTcp = ({ protocol = "TCP" }: { readonly protocol?: string | undefined }): boolean => protocol === "TCP"

/** Returns why a pod does not reach a Service that its log names; empty where nothing can be told. */
export async function connectionFinding(
  pod: Pod,
  connection: Unreached,
  line: string,
  ward: Ward,
): Promise<readonly Finding[]> {
  const { host, port, refused } = connection
  const { namespace = "" } = pod.metadata
  const services = await ward.reader.list(SERVICES)
  const meant = serviceNamed(host, namespace)
  const service =
    services.find(({ spec }) => spec.clusterIP === host || spec.clusterIPs?.includes(host) === true) ??
    services.find(({ metadata }) => metadata.name === meant?.name && metadata.namespace === meant?.namespace)
  const evidence = [`log: ${line.trim()}`]
  if (service === undefined) return withEvidence(await podAddressFinding(pod, connection, ward), evidence)
  const ref = refOf(service)
  if (
    port !== undefined &&
    service.spec.type !== "ExternalName" &&
    service.spec.ports?.some((one) => one.port === port && isTcp(one)) !== true
  )
    return [
      finding(
        "service-port",
        service.spec.ports?.some((one) => one.port === port) === true
          ? `${nameOf(ref)} has port ${port} for UDP only, and the client connects by TCP`
          : `${nameOf(ref)} has no port ${port}, but ${(service.spec.ports ?? []).map((one) => `${one.port}${isTcp(one) ? "" : ` (${one.protocol})`}`).join(", ") || "none"}`,
        { evidence },
      ),
    ]
  const opinion = await ward.ask(ref)
  const found = withEvidence(through(ref, opinion), evidence)
  if (found.length > 0) return found
  const { pods } = await podsOf(service, ward)
  const local = localEndpointsFinding(pod, service, pods)
  if (local !== undefined) return [{ ...local, cause: { ...local.cause, evidence } }]
  if (refused) return []
  const asked = port ?? service.spec.ports?.[0]?.port ?? 0
  const dropped = await flowFinding(pod, pods, { name: service.metadata.name ?? "", service, port: asked }, ward)
  return dropped === undefined ? [] : withEvidence([dropped], evidence)
}

const withEvidence = (findings: readonly Finding[], more: readonly string[]): readonly Finding[] =>
  findings.map((one) => ({ ...one, cause: { ...one.cause, evidence: [...one.cause.evidence, ...more] } }))
