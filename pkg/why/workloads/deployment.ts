import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { askThrough, doctor, healthy, isOwnedBy, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf } from "../events.ts"
import { DEPLOYMENTS, refOf, REPLICA_SETS } from "../reading/kinds.ts"
import { changedAt, latest, overdue, PROGRESS_MS, REACTION_MS, within } from "../under-way.ts"
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
  const late = stuck(deployment)
  if (findings.length > 0) {
    const known = withSurge(withUndo(findings, deployment, sets), deployment)
    return unwell(summary, [...(late.length > 0 ? overdue(known) : known), ...late])
  }
  if (isBehind || newest === undefined) {
    const behind = finding(
      "controller-behind",
      "the controller has not seen its last change; perhaps the controller-manager does not run",
      { weight: "waiting", sure: false },
    )
    return unwell(summary, [within(behind, ward.reader.now, changedAt(deployment), REACTION_MS)])
  }
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
function stuck({ status, spec }: Deployment): readonly Finding[] {
  const progressing = status.conditions?.find(({ type }) => type === "Progressing")
  return progressing?.reason === "ProgressDeadlineExceeded"
    ? [
        finding(
          "rollout-stuck",
          `the rollout has made no progress for ${spec.progressDeadlineSeconds ?? PROGRESS_MS / 1000} s, and is not undone by itself`,
          { weight: "note", evidence: [progressing.message ?? ""] },
        ),
      ]
    : []
}

/** Without further progress the rollout counts as failed at its deadline: so does `kubectl rollout status`. */
function waits(deployment: Deployment, { reader }: Ward): Finding {
  const { spec, status } = deployment
  const progressing = status.conditions?.find(({ type }) => type === "Progressing")
  const progress = latest([parseTime(progressing?.lastUpdateTime ?? ""), changedAt(deployment)])
  const minReady = spec.minReadySeconds ?? 0
  const one = finding(
    "rollout-goes-on",
    `the rollout goes on${minReady > 0 ? `; a pod must be ready for ${minReady} s` : ""}`,
    { weight: "waiting", evidence: progressing?.message === undefined ? [] : [progressing.message] },
  )
  if (progressing?.reason === "ProgressDeadlineExceeded") return one
  return within(one, reader.now, progress, (spec.progressDeadlineSeconds ?? PROGRESS_MS / 1000) * 1000)
}
