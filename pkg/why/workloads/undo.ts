import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { scaledValue } from "../../apimachinery/scalars/intstr.ts"
import { mend, type Finding } from "../answer.ts"
import { refOf } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { command } from "../command.ts"

/** Causes that are in the template of the pods: what the former template has runs. */
const OF_TEMPLATE =
  /^(?:image|registry|command|exits|ended-by|oom|working|start-failed|hook|runs-as|config-error|insufficient|node-(?:selector|affinity)|service-account|priority-class|runtime-class|no-such|pod-security|limit-range|configmap|secret)|-probe-/

/** Adds that a rollout which makes a new pod before it ends an old one needs room for one more. */
export function withSurge(findings: readonly Finding[], { spec, status }: Deployment): readonly Finding[] {
  const { maxUnavailable = "25%" } = spec.strategy?.rollingUpdate ?? {}
  const isRolling = (status.updatedReplicas ?? 0) < (status.replicas ?? 0)
  if (!isRolling || scaledValue(maxUnavailable, spec.replicas ?? 1, "down") > 0) return findings
  const hint =
    "the rollout makes a new pod before it ends an old one (maxUnavailable is 0): with 1 it needs no more room"
  return findings.map((one) => (NEEDS_ROOM.test(one.cause.code) ? { ...one, hints: [...one.hints, hint] } : one))
}

/** Causes that the end of an old pod would remove. */
const NEEDS_ROOM = /^(?:insufficient|too-many-pods|host-port-taken|pod-anti-affinity|quota-exceeded)/

/**
 * Adds to the findings of a new template that the rollout can be undone, where it differs from the former one by more
 * than the time of a restart. It is a mend where the pods of the former one are ready. The newest set comes first.
 */
export function withUndo(
  findings: readonly Finding[],
  deployment: Deployment,
  [newest, former]: readonly ReplicaSet[],
): readonly Finding[] {
  if (newest === undefined || former === undefined) return findings
  if (JSON.stringify(newest.spec.template?.spec) === JSON.stringify(former.spec.template?.spec)) return findings
  const revision = former.metadata.annotations?.["deployment.kubernetes.io/revision"] ?? ""
  const undoing = command`kubectl rollout undo ${wordsOf(refOf(deployment))}`
  const runs = (former.status.readyReplicas ?? 0) > 0
  const undo = runs ? [mend(undoing, `goes back to revision ${revision}, whose pods are ready`)] : []
  const hint = runs ? [] : [`${undoing} goes back to revision ${revision}`]
  const isOfNewest = ({ chain }: Finding) => chain.some(({ object }) => object.name === newest.metadata.name)
  return findings.map((one) =>
    one.weight === "broken" && isOfNewest(one) && OF_TEMPLATE.test(one.cause.code)
      ? { ...one, mends: [...undo, ...one.mends], hints: [...one.hints, ...hint] }
      : one,
  )
}
