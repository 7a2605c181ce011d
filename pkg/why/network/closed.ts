import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { finding, mend, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { targetPortIn } from "./service-pods.ts"

/**
 * Returns that a Service sends to a port on which its pods do not listen. Asks the pod, through the API server, only
 * where the pod does not declare the port, and only whether it can be connected to.
 */
export async function closedFinding(
  service: Service,
  ready: readonly Pod[],
  { reader }: Ward,
): Promise<Finding | undefined> {
  const [pod] = ready
  if (pod === undefined) return undefined
  const declared = pod.spec.containers.flatMap(({ ports }) => ports ?? []).filter(({ protocol }) => protocol !== "UDP")
  for (const [index, port] of (service.spec.ports ?? []).entries()) {
    const target = targetPortIn(pod, port)
    if (target === undefined || (port.protocol ?? "TCP") !== "TCP" || declared.length === 0) continue
    if (declared.some(({ containerPort }) => containerPort === target)) continue
    const { namespace = "", name = "" } = pod.metadata
    const answer = await reader.failure(`/api/v1/namespaces/${namespace}/pods/${name}:${target}/proxy/`)
    if (answer === undefined || !/connection refused|ECONNREFUSED/i.test(answer)) continue
    const [only] = declared
    const patch = JSON.stringify([
      { op: "replace", path: `/spec/ports/${index}/targetPort`, value: only!.containerPort },
    ])
    return finding(
      "service-target-port",
      `port ${port.port} goes to port ${target} of its pods, on which nothing listens; they declare ` +
        declared.map(({ containerPort }) => containerPort).join(", "),
      {
        evidence: [`pod ${name}: ${answer}`],
        mends:
          declared.length === 1
            ? [
                mend(
                  `kubectl patch service ${service.metadata.name} -n ${namespace} --type=json -p '${patch}'`,
                  `sends port ${port.port} to ${only!.containerPort}`,
                ),
              ]
            : [],
      },
    )
  }
  return undefined
}
