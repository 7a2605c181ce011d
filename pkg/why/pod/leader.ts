import type { Lease } from "../../api/coordination/v1/lease.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { PODS } from "../reading/kinds.ts"

/** The words of client-go's leader election before it leads. */
const ACQUIRES = /attempting to acquire leader lease "?([\w.-]+)\/([\w.-]+?)"?(?:\.\.\.)?\s*$/

/**
 * Returns that a program waits for a lease which another one holds; undefined where a line does not say so, and where
 * nobody else holds it.
 */
export async function leaseFinding(
  pod: Pod,
  container: string,
  line: string,
  { reader }: Ward,
): Promise<Finding | undefined> {
  const [, namespace, name] = ACQUIRES.exec(line) ?? []
  if (namespace === undefined || name === undefined) return undefined
  const kind = await reader.kindOf({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" }).catch(() => undefined)
  const lease =
    kind === undefined
      ? undefined
      : ((await reader.get(kind, namespace, name).catch(() => undefined)) as Lease | undefined)
  const holder = lease?.spec.holderIdentity ?? ""
  const own = pod.metadata.name ?? ""
  if (lease === undefined || holder === "" || holder === own || holder.startsWith(`${own}_`)) return undefined
  const renewed = parseTime(lease.spec.renewTime ?? "")
  const age = renewed === undefined ? "" : `, and renewed it ${humanDuration(reader.now - renewed)} ago`
  const pods = (await reader.listIfAllowed(PODS)) ?? []
  const there = pods.find(({ metadata }) => holder === metadata.name || holder.startsWith(`${metadata.name}_`))
  const who =
    there === undefined
      ? `${holder}, which is no pod of the cluster`
      : `pod ${there.metadata.namespace}/${there.metadata.name}`
  return finding(
    "leader-elsewhere",
    `the program of container ${container} waits until it leads: lease ${namespace}/${name} is held by ${who}${age}`,
    {
      evidence: [`log of ${container}: ${line.trim()}`],
      hints: [
        "a program that waits to lead should be ready all the same; see why the other one does not give the lease up",
      ],
    },
  )
}
