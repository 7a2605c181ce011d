import type { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { runsOn } from "../../../pkg/api/core/v1/pod/scheduling/node-selection.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { TAINT, untolerated } from "../../../pkg/api/core/v1/node/taints.ts"
import type { Toleration } from "../../../pkg/api/core/v1/pod/scheduling/tolerations.ts"
import { REVISION_LABEL } from "../revisions.ts"
import { TEMPLATE_GENERATION_LABEL, templateGeneration } from "../../../pkg/api/apps/v1/template-generation.ts"

/**
 * Which nodes get the pods of a DaemonSet. Source: NodeShouldRunDaemonPod in pkg/controller/daemon,
 * pkg/controller/daemon/util.
 */

/** The tolerations of daemon pods, which stay on nodes with problems: they may be the ones to report or repair them. */
const tolerationsOf = ({ template }: DaemonSet["spec"]): readonly Toleration[] => {
  const bearing = (key: string, effect: "NoSchedule" | "NoExecute"): Toleration => ({ key, operator: "Exists", effect })
  const added = [
    bearing(TAINT.notReady, "NoExecute"),
    bearing(TAINT.unreachable, "NoExecute"),
    bearing(TAINT.diskPressure, "NoSchedule"),
    bearing(TAINT.memoryPressure, "NoSchedule"),
    bearing(TAINT.pidPressure, "NoSchedule"),
    bearing(TAINT.unschedulable, "NoSchedule"),
    ...(template.spec.hostNetwork === true ? [bearing(TAINT.networkUnavailable, "NoSchedule")] : []),
  ]
  const own = (template.spec.tolerations ?? []).filter(
    ({ key, operator, effect }) =>
      !added.some((other) => other.key === key && other.operator === operator && other.effect === effect),
  )
  return [...own, ...added]
}

export interface Placement {
  /** Whether the node should get a pod. */
  readonly run: boolean
  /** Whether an existing pod may stay. */
  readonly stay: boolean
}

export function placementOn(node: Node, { spec }: DaemonSet): Placement {
  const pod = spec.template.spec
  if ((pod.nodeName ?? "") !== "" && pod.nodeName !== node.metadata.name) return { run: false, stay: false }
  if (!runsOn(pod, node)) return { run: false, stay: false }
  const tolerations = tolerationsOf(spec)
  if (untolerated(node.spec.taints, tolerations, ["NoExecute", "NoSchedule"]) === undefined)
    return { run: true, stay: true }
  return { run: false, stay: untolerated(node.spec.taints, tolerations, ["NoExecute"]) === undefined }
}

/** Returns the template of the pod for one node, with an affinity to that node only. */
export function templateFor(set: DaemonSet, hash: string, node: string): PodTemplateSpec {
  const { spec } = set
  const { metadata, spec: pod } = spec.template
  const generation = templateGeneration(set)
  const labels = generation === undefined ? {} : { [TEMPLATE_GENERATION_LABEL]: generation }
  const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: [node] }] }]
  return {
    metadata: { ...metadata, labels: { ...metadata.labels, ...labels, [REVISION_LABEL]: hash } },
    spec: {
      ...pod,
      tolerations: tolerationsOf(spec),
      affinity: {
        ...pod.affinity,
        nodeAffinity: {
          ...pod.affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
        },
      },
    },
  }
}

/** Returns the node that a daemon pod is on, or the only one that its affinity allows; undefined without either. */
export function nodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return terms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator, values }) => key === "metadata.name" && operator === "In" && values?.length === 1)
    ?.values?.[0]
}
