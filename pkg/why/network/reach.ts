import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { finding, nameOf, type Finding, type ObjectRef } from "../answer.ts"
import { workloadPods } from "../workloads/pods.ts"
import type { Ward } from "../doctor.ts"
import { PODS, SERVICES } from "../reading/kinds.ts"
import { localEndpointsFinding } from "./local-endpoints.ts"
import { flowFinding } from "./policies.ts"
import { podsOf } from "./service-pods.ts"

/** Returns which NetworkPolicies keep the pods of `from` from a Service or a pod. */
export async function reachFindings(
  target: ObjectRef,
  from: ObjectRef,
  port: number | undefined,
  ward: Ward,
): Promise<readonly Finding[]> {
  const [source] = await workloadPods(from, ward)
  if (source === undefined)
    return [finding("source-missing", `${nameOf(from)} has no pod, so nothing can be told of its connections`)]
  const { service, pods } = await targetOf(target, port, ward)
  const local = localEndpointsFinding(source, service, pods)
  if (local !== undefined) return [local]
  const findings: Finding[] = []
  for (const one of service.spec.ports ?? []) {
    if (port !== undefined && one.port !== port) continue
    const found = await flowFinding(source, pods, { name: service.metadata.name ?? "", service, port: one.port }, ward)
    if (found !== undefined) findings.push(found)
  }
  return findings
}

async function targetOf(
  target: ObjectRef,
  port: number | undefined,
  ward: Ward,
): Promise<{ readonly service: Service; readonly pods: readonly Pod[] }> {
  if (target.kind === SERVICES.kind) {
    const service = await ward.reader.get(SERVICES, target.namespace, target.name)
    if (service !== undefined) return { service, pods: (await podsOf(service, ward)).pods }
  }
  const pods = target.kind === PODS.kind ? await workloadPods(target, ward) : []
  // A pod is reached at its own ports.
  const ports = (pods[0]?.spec.containers ?? [])
    .flatMap((one) => one.ports ?? [])
    .map(({ containerPort, protocol }) => ({ port: containerPort, protocol }))
  const own = port === undefined ? ports : [{ port, protocol: "TCP" }]
  const like = { metadata: { name: target.name, namespace: target.namespace }, spec: { ports: own }, status: {} }
  return { service: like as unknown as Service, pods }
}
