import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { crashFindings } from "./crash.ts"

/** What the reason of a failed pod means, beside what its message says. */
const REASONS: Readonly<Record<string, readonly [code: string, says: string]>> = {
  Evicted: ["evicted", "the kubelet evicted it, to save its node"],
  DeadlineExceeded: ["pod-deadline", "it ran longer than its activeDeadlineSeconds"],
  NodeLost: ["node-lost", "its node does not answer"],
  NodeShutdown: ["node-shutdown", "its node was shut down"],
  Terminated: ["node-shutdown", "its node was shut down"],
  Preempting: ["preempted", "the kubelet ended it for a pod of a higher priority"],
  UnexpectedAdmissionError: ["kubelet-refused", "the kubelet refused it"],
  NodeAffinity: ["kubelet-refused", "the kubelet refused it: its node does not match its node selector any more"],
  NodePorts: ["host-port-taken", "the kubelet refused it: another pod there has its port"],
  OutOfcpu: ["kubelet-refused", "the kubelet refused it: the node has not enough CPU"],
  OutOfmemory: ["kubelet-refused", "the kubelet refused it: the node has not enough memory"],
  OutOfpods: ["kubelet-refused", "the kubelet refused it: the node runs as many pods as it may"],
}

/** What the reason of a pod that the kubelet rejected means, and what helps. */
const REFUSALS: Readonly<Record<string, readonly [code: string, hint: string]>> = {
  SysctlForbidden: [
    "sysctl-forbidden",
    "only sysctls that cannot harm other pods are allowed, unless the kubelet's allowedUnsafeSysctls has more",
  ],
  AppArmor: [
    "apparmor-refused",
    "take appArmorProfile away, or choose nodes that have AppArmor by a label and a nodeSelector",
  ],
}

/** Returns why a pod has failed. */
export async function endedFinding(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const { reason = "", message = "", conditions = [] } = pod.status
  if (reason === "Evicted" && /exceeds the (?:total )?limit|exceeds its local ephemeral storage limit/i.test(message))
    return [
      finding("evicted-by-limit", `the kubelet evicted it, because it wrote more than it may: ${message.trim()}`, {
        evidence: [`status.reason: ${reason}`],
        hints: ["raise sizeLimit of the volume, or the ephemeral-storage limit; or have the program write less"],
      }),
    ]
  const known = REASONS[reason]
  if (known !== undefined)
    return [
      finding(known[0], `${known[1]}${message === "" ? "" : `: ${message}`}`, {
        evidence: [`status.reason: ${reason}`],
      }),
    ]
  const refusal = /^Pod was rejected: (.*)$/s.exec(message)?.[1]
  if (refusal !== undefined) {
    const [code, ...hints] = REFUSALS[reason] ?? ["kubelet-refused"]
    return [finding(code, `the kubelet refused it: ${refusal}`, { evidence: [`status.reason: ${reason}`], hints })]
  }
  const target = conditions.find(({ type, status }) => type === "DisruptionTarget" && status === "True")
  const statuses = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])]
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
  const failed = statuses.flatMap((status) => {
    const ended = status.state?.terminated
    const container = all.find(({ name }) => name === status.name)
    // Sidecars are ended when the pod is, and what they end with does not count.
    if (ended === undefined || ended.exitCode === 0 || container === undefined || container.restartPolicy === "Always")
      return []
    return [{ status, ended, container }]
  })
  // The one that ended first is what the others may have followed.
  const [first] = failed.toSorted((a, b) => (a.ended.finishedAt ?? "").localeCompare(b.ended.finishedAt ?? ""))
  if (first !== undefined && target === undefined)
    return crashFindings(pod, first.container, first.status, first.ended, ward)
  if (target !== undefined)
    return [
      finding("disrupted", `it was ended: ${target.message ?? target.reason ?? ""}`, {
        evidence: [`DisruptionTarget: ${target.reason ?? ""}`],
      }),
    ]
  return [
    finding("failed", `it has failed${reason === "" ? "" : `: ${reason}`}${message === "" ? "" : `: ${message}`}`),
  ]
}
