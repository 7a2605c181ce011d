import type { Service } from "../../api/core/v1/service/service.ts"
import { fromLabels, type LabelMatcher, type Labels } from "../../apimachinery/selectors/labels.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, nameOf, type Finding } from "../answer.ts"
import { askThrough, controllerOf, type Ward } from "../doctor.ts"
import {
  CONTROLLERS,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  PODS,
  refOf,
  REPLICA_SETS,
  STATEFUL_SETS,
} from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { command } from "../command.ts"
import { changedAt, REACTION_MS, within } from "../under-way.ts"

interface Templated extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly template: { readonly metadata?: { readonly labels?: Labels } } }
}

/** Returns why a Service selects no pods: its workload has none, or its selector is wrong. */
export async function selectorFinding({ metadata, spec }: Service, ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "", name = "" } = metadata
  const wanted = spec.selector ?? {}
  const selector = fromLabels(wanted)
  const workloads = [
    ...(await ward.reader.list(DEPLOYMENTS, namespace)),
    ...(await ward.reader.list(STATEFUL_SETS, namespace)),
    ...(await ward.reader.list(DAEMON_SETS, namespace)),
    // What others own is told of with its owner.
    ...[
      ...(await ward.reader.list(REPLICA_SETS, namespace)),
      ...((await ward.reader.listIfAllowed(CONTROLLERS, namespace)) ?? []),
      ...(await ward.reader.list(JOBS, namespace)),
    ].filter((one) => controllerOf(one) === undefined),
  ] as unknown as readonly Templated[]
  const labelsOf = (one: Templated): Labels => one.spec.template?.metadata?.labels ?? {}
  const meant = workloads.find((one) => selector.matches(labelsOf(one)))
  const ended = await endedFinding(selector, namespace, ward)
  if (meant !== undefined) {
    const { findings } = await askThrough(ward, refOf(meant))
    if (findings.length > 0) return findings
    if (meant.spec.replicas === 0)
      return [
        finding("scaled-to-zero", `${nameOf(refOf(meant))}, whose pods it selects, is scaled to 0 pods`, {
          chain: [{ object: refOf(meant), says: "is scaled to 0 pods" }],
          hints: [command`kubectl scale ${wordsOf(refOf(meant))} --replicas=N`],
        }),
      ]
    if (ended !== undefined) return [ended]
    // Its selector is right: the workload has no pods at this moment, or is itself being examined.
    const none = finding(
      "pods-not-created",
      `${nameOf(refOf(meant))}, whose pods it selects, has none at this moment`,
      {
        chain: [{ object: refOf(meant), says: "has no pods" }],
        weight: "waiting",
      },
    )
    return [within(none, ward.reader.now, changedAt(meant), REACTION_MS)]
  }
  if (ended !== undefined) return [ended]
  const pods = await ward.reader.list(PODS, namespace)
  const all = [
    ...workloads.map((one) => ({ what: nameOf(refOf(one)), name: one.metadata.name, labels: labelsOf(one) })),
    ...pods.map((pod) => ({ what: nameOf(refOf(pod)), name: pod.metadata.name, labels: pod.metadata.labels ?? {} })),
  ]
  const near = nearestTo(wanted, name, all)
  const text = selector.toString()
  if (near === undefined)
    return [
      finding(
        "service-selector",
        `its selector ${text} matches no pod of namespace ${namespace}` +
          (all.length === 0 ? ", which has none" : await elsewhere(wanted, ward)),
      ),
    ]
  const { what, labels, sure } = near
  const differing = Object.entries(wanted).filter(([key, value]) => labels[key] !== value)
  const change = Object.fromEntries(differing.map(([key]) => [key, labels[key] ?? null] as const))
  const corrected = { ...wanted, ...change }
  const remains = Object.values(corrected).some((value) => value !== null)
  return [
    finding(
      "service-selector",
      `its selector ${text} matches no pod of namespace ${namespace}; ${what} has ` +
        differing.map(([key]) => (labels[key] === undefined ? `no label ${key}` : `${key}=${labels[key]}`)).join(", "),
      {
        mends:
          sure && remains
            ? [
                mend(
                  command`kubectl patch service ${name} -n ${namespace} --type=merge -p ${JSON.stringify({ spec: { selector: change } })}`,
                  `selects the pods of ${what}`,
                ),
              ]
            : [],
        hints: sure ? [] : ["compare the selector with kubectl get pods --show-labels"],
      },
    ),
  ]
}

/** Returns that a selector is right, and the pods with its labels have ended; undefined where there are none. */
async function endedFinding(selector: LabelMatcher, namespace: string, ward: Ward): Promise<Finding | undefined> {
  const pods = (await ward.reader.list(PODS, namespace)).filter((pod) => selector.matches(pod.metadata.labels))
  const [first] = pods.toSorted((a, b) =>
    (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? ""),
  )
  if (first === undefined) return undefined
  const [why] = (await askThrough(ward, refOf(first))).findings
  if (why !== undefined) return why
  return finding(
    "pods-ended",
    `the pods that it selects have ended, such as ${nameOf(refOf(first))}: a Service leads to pods that run`,
    { chain: [{ object: refOf(first), says: "has ended" }] },
  )
}

interface Candidate {
  readonly what: string
  readonly name: string | undefined
  readonly labels: Labels
}

/** Returns what the selector most likely means; `sure` where its name or most of its labels say so, and only one does. */
function nearestTo(
  wanted: Labels,
  service: string,
  all: readonly Candidate[],
): (Candidate & { readonly sure: boolean }) | undefined {
  const scored = all
    .map((one) => {
      const same = Object.entries(wanted).filter(([key, value]) => one.labels[key] === value).length
      const keys = Object.keys(wanted).filter((key) => one.labels[key] !== undefined).length
      const alike = Object.entries(wanted).filter(([key, value]) => isAlike(one.labels[key], value)).length
      return { ...one, score: same * 4 + alike * 2 + keys + (one.name === service ? 3 : 0) }
    })
    .filter(({ score }) => score >= 2)
    .toSorted((a, b) => b.score - a.score)
  const [best, next] = scored
  if (best === undefined) return undefined
  // The pods of a workload have its labels.
  const rivals =
    next !== undefined && next.score === best.score && JSON.stringify(next.labels) !== JSON.stringify(best.labels)
  return { ...best, sure: !rivals && best.score >= 3 }
}

const isAlike = (there: string | undefined, wanted: string): boolean =>
  there !== undefined && there !== wanted && nearest(wanted.toLowerCase(), [there.toLowerCase()]) !== undefined

async function elsewhere(wanted: Labels, { reader }: Ward): Promise<string> {
  const selector = fromLabels(wanted)
  const pods = (await reader.listIfAllowed(PODS)) ?? []
  const other = pods.find((pod) => selector.matches(pod.metadata.labels))
  return other === undefined ? "" : `; there are such pods in namespace ${other.metadata.namespace ?? ""}`
}
