import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { askThrough, doctor, healthy, isOwnedBy, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf } from "../events.ts"
import { DEPLOYMENTS, refOf, REPLICA_SETS } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { refusedFinding } from "./creation.ts"
import { withSurge, withUndo } from "./undo.ts"
import { pushAll } from "../../lists/push-all.ts"
import { command } from "../command.ts"

const REVISION = "deployment.kubernetes.io/revision"

export const deploymentDoctor = doctor(DEPLOYMENTS, async (deployment, ward) => {
  const { spec, status, metadata } = deployment
  const wanted = spec.replicas ?? 1
  const { availableReplicas = 0, updatedReplicas = 0, replicas = 0 } = status
  const sets = (await ward.reader.list(REPLICA_SETS, metadata.namespace))
    .filter((set) => isOwnedBy(set, deployment))
    .toSorted((a, b) => revisionOf(b) - revisionOf(a))
  const summary =
    `${availableReplicas} of ${wanted} pods are available` +
    (updatedReplicas < wanted && replicas > 0 ? `, ${updatedReplicas} of the new template` : "")
  const isBehind = (status.observedGeneration ?? 0) < (metadata.generation ?? 0)
  const isDone = availableReplicas >= wanted && updatedReplicas >= wanted && replicas <= wanted
  const paused = spec.paused === true && (updatedReplicas < wanted || isBehind) ? [pausedFinding(deployment)] : []
  const findings: Finding[] = [...paused, ...(isDone && !isBehind ? [] : await unmade(deployment, sets, ward))]
  const [newest] = sets
  const examined = [newest, ...sets.slice(1).filter((set) => (set.spec.replicas ?? 0) > 0)].filter(
    (set): set is ReplicaSet => set !== undefined,
  )
  for (const set of examined) pushAll(findings, (await askThrough(ward, refOf(set))).findings)
  if (isDone && findings.length === 0)
    return healthy(wanted === 0 ? "is scaled to 0 pods" : summary, wanted === 0 ? [scaledToZero(deployment)] : [])
  if (findings.length > 0)
    return unwell(summary, [...withSurge(withUndo(findings, deployment, sets), deployment), ...stuck(deployment, ward)])
  if (isBehind || newest === undefined)
    return unwell(summary, [
      finding(
        "controller-behind",
        "the controller has not seen its last change; perhaps the controller-manager does not run",
        {
          weight: "waiting",
          sure: false,
        },
      ),
    ])
  return unwell(summary, [waits(deployment, ward)])
})

/** Returns why the ReplicaSet of the last template was not created. */
async function unmade(deployment: Deployment, sets: readonly ReplicaSet[], ward: Ward): Promise<readonly Finding[]> {
  const events = await eventsOf(ward.reader, deployment)
  const event = events.find(({ reason }) => reason === "ReplicaSetCreateError")
  const [, name, says = ""] = /replica set "([^"]+)": (.*)$/s.exec(event?.message ?? "") ?? []
  if (event === undefined || name === undefined || sets.some(({ metadata }) => metadata.name === name)) return []
  return [await refusedFinding(deployment, "its ReplicaSet", says, [eventLine(event)], ward)]
}

const revisionOf = ({ metadata }: ReplicaSet): number => Number(metadata.annotations?.[REVISION] ?? 0)

const pausedFinding = (deployment: Deployment): Finding =>
  finding("rollout-paused", "its rollout is paused: its last template is not rolled out", {
    mends: [mend(command`kubectl rollout resume ${wordsOf(refOf(deployment))}`, "rolls out the template")],
  })

const scaledToZero = (deployment: Deployment): Finding =>
  finding("scaled-to-zero", "it has 0 replicas, so that it runs nothing", {
    weight: "note",
    hints: [command`kubectl scale ${wordsOf(refOf(deployment))} --replicas=N`],
  })

/** That the rollout has taken too long is a consequence, never a cause. */
function stuck({ status, spec }: Deployment, _ward: Ward): readonly Finding[] {
  const progressing = status.conditions?.find(({ type }) => type === "Progressing")
  return progressing?.reason === "ProgressDeadlineExceeded"
    ? [
        finding(
          "rollout-stuck",
          `the rollout has made no progress for ${spec.progressDeadlineSeconds ?? 600} s, and is not undone by itself`,
          { weight: "note", evidence: [progressing.message ?? ""] },
        ),
      ]
    : []
}

function waits({ spec, status }: Deployment, { reader }: Ward): Finding {
  const progressing = status.conditions?.find(({ type }) => type === "Progressing")
  const since = parseTime(progressing?.lastUpdateTime ?? "")
  const deadline = (spec.progressDeadlineSeconds ?? 600) * 1000
  const minReady = spec.minReadySeconds ?? 0
  return finding(
    "rollout-goes-on",
    `the rollout goes on${since === undefined ? "" : `; its last progress was ${humanDuration(reader.now - since)} ago, and it counts as failed ${humanDuration(Math.max(0, since + deadline - reader.now))} from now`}` +
      (minReady > 0 ? `; a pod must be ready for ${minReady} s` : ""),
    { weight: "waiting", evidence: progressing?.message === undefined ? [] : [progressing.message] },
  )
}
