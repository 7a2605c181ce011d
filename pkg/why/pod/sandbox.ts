import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"

/** Events that name why a pod's containers cannot begin. */
const REASONS: Readonly<Record<string, readonly [code: string, says: string]>> = {
  FailedMount: ["mount-failed", "a volume cannot be mounted"],
  FailedAttachVolume: ["attach-failed", "a volume cannot be attached to its node"],
  FailedMapVolume: ["mount-failed", "a volume cannot be mapped"],
  FailedCreatePodSandBox: ["sandbox-failed", "its sandbox cannot be made"],
  NetworkNotReady: ["node-network-unavailable", "the network of its node is not ready"],
  FailedCreatePodContainer: ["start-failed", "a container cannot be made"],
}

/** Returns why the kubelet does not get as far as the containers, by its last Events. */
export async function sandboxFindings(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const events = (await eventsOf(ward.reader, pod)).filter(({ reason = "" }) => REASONS[reason] !== undefined)
  const [event] = events.toSorted((a, b) => seenAt(b) - seenAt(a))
  if (event === undefined) return []
  const { reason = "", message = "" } = event
  const [code, says] = REASONS[reason]!
  if (/Multi-Attach/i.test(message))
    return [
      finding(
        "volume-in-use",
        `a volume of it is attached to another node, and can be used by one at a time: ${message}`,
        {
          evidence: [eventLine(event)],
          hints: ["end the pod that uses it there, or use a volume with ReadWriteMany"],
        },
      ),
    ]
  return [finding(code, `${says}: ${message}`, { evidence: [eventLine(event)] })]
}
