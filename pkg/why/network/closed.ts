import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { fromLabels } from "../../apimachinery/selectors/labels.ts"
import { finding, mend, nameOf, type Finding, type ObjectRef } from "../answer.ts"
import { isSame, type Ward } from "../doctor.ts"
import { workloadOf } from "../workload.ts"
import { isLedTo, targetPortIn } from "./service-pods.ts"
import { command } from "../command.ts"

type Port = NonNullable<Service["spec"]["ports"]>[number]

/**
 * Returns that a Service sends to a port on which its pods do not listen: all of them, or those of one workload which
 * its selector matches as well. Asks a pod of each workload, through the API server, only where the pod does not
 * declare the port, and only whether it can be connected to.
 */
export async function closedFinding(service: Service, ready: readonly Pod[], ward: Ward): Promise<Finding | undefined> {
  const undeclared = (service.spec.ports ?? []).filter(
    (port) => (port.protocol ?? "TCP") === "TCP" && ready.some((pod) => undeclaredTarget(pod, port) !== undefined),
  )
  const groups = undeclared.length === 0 ? [] : await byWorkload(ready, ward)
  for (const port of undeclared) {
    const refusals = await Promise.all(
      groups.map(async (one) => ({ ...one, answer: await refusal(one.pod, port, ward) })),
    )
    const closed = refusals.filter(({ answer }) => answer !== undefined)
    const [first] = closed
    if (first === undefined) continue
    const open = refusals.find(({ answer }) => answer === undefined)
    return open === undefined
      ? targetPortFinding(service, port, first.pod, first.answer ?? "")
      : othersFinding(service, port, first, open.owner)
  }
  return undefined
}

interface Group {
  readonly owner: ObjectRef
  readonly pod: Pod
}

/** Of so many workloads a pod is asked: each pod without a controller is one of its own. */
const MOST_WORKLOADS = 10

/** Returns a pod of each workload. */
async function byWorkload(pods: readonly Pod[], ward: Ward): Promise<readonly Group[]> {
  const groups: Group[] = []
  for (const pod of pods) {
    if (groups.length === MOST_WORKLOADS) break
    const { ref: owner } = await workloadOf(pod, ward)
    if (!groups.some((one) => isSame(one.owner, owner))) groups.push({ owner, pod })
  }
  return groups
}

const declaredBy = ({ spec }: Pod): readonly number[] =>
  spec.containers
    .flatMap(({ ports }) => ports ?? [])
    .flatMap(({ protocol, containerPort }) => (protocol === "UDP" ? [] : [containerPort]))

/** Returns the port of a pod to which a Service sends, where the pod does not declare it. */
function undeclaredTarget(pod: Pod, port: Port): number | undefined {
  const target = targetPortIn(pod, port)
  return target === undefined || declaredBy(pod).includes(target) ? undefined : target
}

/** Returns the words of a pod that refuses a connection to a port which it does not declare. */
async function refusal(pod: Pod, port: Port, { reader }: Ward): Promise<string | undefined> {
  const target = undeclaredTarget(pod, port)
  if (target === undefined) return undefined
  const { namespace = "", name = "" } = pod.metadata
  const answer = await reader.failure(`/api/v1/namespaces/${namespace}/pods/${name}:${target}/proxy/`)
  return answer !== undefined && /connection refused|ECONNREFUSED/i.test(answer) ? answer : undefined
}

function targetPortFinding(service: Service, port: Port, pod: Pod, answer: string): Finding {
  const { name = "", namespace = "" } = service.metadata
  const declared = declaredBy(pod)
  const [only] = declared
  const index = (service.spec.ports ?? []).indexOf(port)
  const patch = JSON.stringify([{ op: "replace", path: `/spec/ports/${index}/targetPort`, value: only }])
  return finding(
    "service-target-port",
    `port ${port.port} goes to port ${targetPortIn(pod, port)} of its pods, on which nothing listens; ${declaredWords(declared)}`,
    {
      evidence: [`pod ${pod.metadata.name}: ${answer}`],
      mends:
        declared.length === 1 && !isLedTo(service, port, pod, only!)
          ? [
              mend(
                command`kubectl patch service ${name} -n ${namespace} --type=json -p ${patch}`,
                `sends port ${port.port} to ${only}`,
              ),
            ]
          : [],
    },
  )
}

const declaredWords = (ports: readonly number[]): string =>
  ports.length === 0 ? "they declare no ports" : `they declare ${ports.join(", ")}`

/** Some of what the selector matches does not serve the Service. */
function othersFinding(
  { spec }: Service,
  port: Port,
  { owner, pod, answer }: Group & { readonly answer: string | undefined },
  meant: ObjectRef,
): Finding {
  return finding(
    "service-selects-others",
    `its selector ${fromLabels(spec.selector ?? {}).toString()} matches the pods of ${nameOf(owner)} beside those of ${nameOf(meant)}, ` +
      `and on port ${targetPortIn(pod, port)} nothing listens in them; ${declaredWords(declaredBy(pod))}: a part of the connections is refused`,
    {
      evidence: [`pod ${pod.metadata.name}: ${answer ?? ""}`],
      hints: [`give the pods of ${nameOf(meant)} a label that the others do not have, and name it in the selector`],
    },
  )
}
