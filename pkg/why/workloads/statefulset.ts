import type { StatefulSet } from "../../api/apps/v1/statefulset.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { pushAll } from "../../lists/push-all.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { askThrough, doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { CLAIMS, refOf, refTo, SERVICES, STATEFUL_SETS } from "../reading/kinds.ts"
import { creationFinding } from "./creation.ts"
import { notCreated, podFindings, podsOfOwner, timesOf } from "./pods.ts"
import { command } from "../command.ts"
import { changedAt, latest, PROGRESS_MS, within } from "../under-way.ts"

export const statefulSetDoctor = doctor(STATEFUL_SETS, async (set, ward) => {
  const wanted = set.spec.replicas ?? 1
  const start = set.spec.ordinals?.start ?? 0
  const pods = (await podsOfOwner(set, ward)).toSorted((a, b) => ordinalOf(a) - ordinalOf(b))
  const ready = pods.filter(isPodReady).length
  const summary = `${ready} of ${wanted} pods are ready`
  const isOrdered = set.spec.podManagementPolicy !== "Parallel"
  const findings: Finding[] = []
  const creation = pods.length < wanted ? await creationFinding(set, "a pod", ward) : undefined
  // One pod after the other: the first that is not ready keeps those after it.
  const first = pods.find((pod) => !isPodReady(pod))
  if (isOrdered && first !== undefined) {
    const next = ordinalOf(first) + 1 - start
    const { findings: own } = await askThrough(ward, refOf(first))
    if (own.some(({ weight }) => weight === "broken")) pushAll(findings, outdatedFinding(set, first))
    const waits =
      pods.length < wanted && next < wanted
        ? [
            `pods ${ordinalOf(first) + 1} to ${wanted - 1 + start} come after ${first.metadata.name} is ready (OrderedReady)`,
          ]
        : []
    for (const one of own)
      findings.push({ ...one, cause: { ...one.cause, evidence: [...one.cause.evidence, ...waits] } })
  } else for (const one of await podFindings(pods, ward)) findings.push(one)
  if (creation !== undefined) findings.push(creation)
  if (findings.length === 0 && pods.length < wanted) pushAll(findings, await endingClaims(set, pods, ward))
  if (findings.length > 0) return unwell(summary, findings)
  const late = ready >= wanted ? updateFinding(set, pods, ward) : undefined
  if (late !== undefined && late.weight !== "note") return unwell(summary, [late])
  if (ready >= wanted) return healthy(summary, [...(late === undefined ? [] : [late]), ...(await governing(set, ward))])
  return unwell(summary, [notCreated(set, pods.length, wanted, pods, ward)])
})

const ordinalOf = ({ metadata }: { readonly metadata: { readonly name?: string | undefined } }): number =>
  Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? 0)

/**
 * A pod of an earlier template that is broken: the controller waits for it to become ready, also where the template has
 * been mended since. Source: kubernetes.io StatefulSet, "Forced rollback".
 */
function outdatedFinding({ spec, status }: StatefulSet, { metadata }: Pod): readonly Finding[] {
  const revision = metadata.labels?.["controller-revision-hash"]
  const isRolling = (spec.updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate"
  if (!isRolling || revision === undefined || status.updateRevision === undefined) return []
  if (revision === status.updateRevision || metadata.deletionTimestamp !== undefined) return []
  if (ordinalOf({ metadata }) < (spec.updateStrategy?.rollingUpdate?.partition ?? 0)) return []
  const { name = "", namespace = "" } = metadata
  return [
    finding(
      "rollout-waits-for-broken-pod",
      `pod ${name} is broken and has an earlier template: its controller waits until it is ready before it replaces it (OrderedReady)`,
      {
        evidence: [`pod ${name} has revision ${revision}, the template is ${status.updateRevision}`],
        mends: [
          mend(command`kubectl delete pod ${name} -n ${namespace}`, "has it made anew, from the present template"),
        ],
      },
    ),
  ]
}

/** Returns what holds claims that are being deleted: a pod of the same number is not made before they are gone. */
async function endingClaims(set: StatefulSet, pods: readonly Pod[], ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "", name = "" } = set.metadata
  const start = set.spec.ordinals?.start ?? 0
  const ordinals = Array.from({ length: set.spec.replicas ?? 1 }, (_, index) => index + start)
  const missing = ordinals.find((ordinal) => !pods.some((pod) => ordinalOf(pod) === ordinal))
  const findings: Finding[] = []
  for (const template of missing === undefined ? [] : (set.spec.volumeClaimTemplates ?? [])) {
    const ref = refTo(CLAIMS, namespace, `${template.metadata?.name ?? ""}-${name}-${missing}`)
    const claim = await ward.reader.get(CLAIMS, namespace, ref.name)
    if (claim?.metadata.deletionTimestamp === undefined) continue
    for (const one of (await askThrough(ward, ref)).findings)
      findings.push({
        ...one,
        cause: {
          ...one.cause,
          evidence: [`pod ${name}-${missing} is made when claim ${ref.name} is gone`, ...one.cause.evidence],
        },
      })
  }
  return findings
}

/** A new template that is not rolled out. */
function updateFinding(set: StatefulSet, pods: readonly Pod[], { reader }: Ward): Finding | undefined {
  const { spec, status, metadata } = set
  const { updateRevision, currentRevision, updatedReplicas = 0 } = status
  if (updateRevision === undefined || updateRevision === currentRevision) return undefined
  if (spec.updateStrategy?.type === "OnDelete")
    return finding(
      "rollout-on-delete",
      `${updatedReplicas} of ${spec.replicas ?? 1} pods have the new template: with updateStrategy OnDelete a pod gets it when it is deleted`,
      { hints: [command`kubectl delete pod ${metadata.name ?? ""}-N -n ${metadata.namespace ?? ""}`] },
    )
  const partition = spec.updateStrategy?.rollingUpdate?.partition ?? 0
  if (partition > 0)
    return finding(
      "rollout-partition",
      `only pods from number ${partition} on get the new template: that is the partition of its updateStrategy`,
      { weight: "note" },
    )
  const going = finding("rollout-goes-on", "its rollout goes on, one pod after the other", { weight: "waiting" })
  return within(going, reader.now, latest([changedAt(set), ...pods.flatMap(timesOf)]), PROGRESS_MS)
}

/** The Service that gives the pods their names. */
async function governing({ spec, metadata }: StatefulSet, { reader }: Ward): Promise<readonly Finding[]> {
  if (!spec.serviceName) return []
  const service = await reader.get(SERVICES, metadata.namespace, spec.serviceName)
  return service === undefined
    ? [
        finding(
          "governing-service-missing",
          `Service ${spec.serviceName}, which its serviceName names, does not exist: its pods have no names in DNS`,
          { weight: "note" },
        ),
      ]
    : []
}
