import type { Job } from "../../api/batch/v1/job.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { finding, type Finding } from "../answer.ts"
import { isOwnedBy, type Ward } from "../doctor.ts"

/** With this label Kueue suspends a Job until its queue has room for it. */
const QUEUE = "kueue.x-k8s.io/queue-name"

interface Admission extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

/** Returns that a suspended Job waits for room in a queue of Kueue, with what Kueue says; empty for other Jobs. */
export async function queuedFindings(job: Job, { reader }: Ward): Promise<readonly Finding[]> {
  const queue = job.metadata.labels?.[QUEUE]
  if (queue === undefined) return []
  const kinds = (await reader.served().catch(() => [])).filter(
    ({ apiVersion, kind }) => kind === "Workload" && apiVersion.startsWith("kueue.x-k8s.io/"),
  )
  const workloads = kinds[0] === undefined ? [] : ((await reader.listIfAllowed(kinds[0], job.metadata.namespace)) ?? [])
  const workload = workloads.find((one) => isOwnedBy(one, job))
  const { conditions = [] } = (workload as Admission | undefined)?.status ?? {}
  const said = conditions.flatMap(({ type, status, message = "" }) =>
    status === "False" && message !== "" ? [`${type}: ${message}`] : [],
  )
  return [
    finding(
      "job-queued",
      `it is suspended until queue ${queue} of Kueue has room for it` +
        (said.length > 0 ? `: ${said[0]!}` : kinds.length === 0 ? "; the cluster has no Kueue" : ""),
      {
        weight: "waiting",
        evidence: said,
        hints: ["see the quota of the ClusterQueue, and what else has it; to set suspend by hand goes round the queue"],
      },
    ),
  ]
}
