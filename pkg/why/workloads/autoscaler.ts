import type { HorizontalPodAutoscaler } from "../../api/autoscaling/v2/horizontalpodautoscaler.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding, type Mend, type ObjectRef } from "../answer.ts"
import { doctor, healthy, through, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf } from "../events.ts"
import { API_SERVICES, AUTOSCALERS, refOf, refTo } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { command } from "../command.ts"
import { changedAt, REACTION_MS, USUAL_MS, within } from "../under-way.ts"

export const autoscalerDoctor = doctor(AUTOSCALERS, async (autoscaler, ward) => {
  const { status, spec } = autoscaler
  const conditions = status.conditions ?? []
  const bad = (type: string) => conditions.find((one) => one.type === type && one.status === "False")
  const { currentReplicas = 0, desiredReplicas = 0 } = status
  const summary = `${currentReplicas} pods, wants ${desiredReplicas}, ${spec.minReplicas ?? 1} to ${spec.maxReplicas} allowed`
  const unable = bad("AbleToScale")
  if (unable !== undefined) return unwell(summary, [await targetFinding(autoscaler, unable.message ?? "", ward)])
  const inactive = bad("ScalingActive")
  if (inactive !== undefined)
    return unwell(summary, await metricFindings(autoscaler, inactive.reason ?? "", inactive.message ?? "", ward))
  const limited = conditions.find(({ type, status: is }) => type === "ScalingLimited" && is === "True")
  if (limited?.reason === "TooManyReplicas")
    return unwell(summary, [
      finding("autoscaler-at-maximum", `its metrics want more pods than its maxReplicas of ${spec.maxReplicas}`, {
        evidence: [limited.message ?? ""],
        hints: [command`kubectl patch ${wordsOf(refOf(autoscaler))} --type=merge -p '{"spec":{"maxReplicas":N}}'`],
      }),
    ])
  if (conditions.length === 0)
    return unwell(summary, [
      within(
        finding("controller-behind", "no controller has looked at it yet", { weight: "waiting" }),
        ward.reader.now,
        changedAt(autoscaler),
        REACTION_MS,
      ),
    ])
  const target = targetOf(autoscaler)
  const opinion = await ward.ask(target)
  return healthy(
    summary,
    through(target, opinion).map((one): Finding => ({ ...one, weight: "note" })),
  )
})

const targetOf = ({ spec, metadata }: HorizontalPodAutoscaler): ObjectRef => ({
  apiVersion: spec.scaleTargetRef.apiVersion ?? "",
  kind: spec.scaleTargetRef.kind,
  name: spec.scaleTargetRef.name,
  namespace: metadata.namespace ?? "",
})

async function targetFinding(
  { spec, metadata }: HorizontalPodAutoscaler,
  message: string,
  { reader }: Ward,
): Promise<Finding> {
  const { kind, name, apiVersion = "v1" } = spec.scaleTargetRef
  if (/no matches for kind/i.test(message)) {
    const kinds = (await reader.served().catch(() => [])).filter((one) => one.kind.toLowerCase() === kind.toLowerCase())
    const meant = kinds.find((one) => one.apiVersion === apiVersion) ?? (kinds.length === 1 ? kinds[0] : undefined)
    return finding(
      "autoscaler-target-missing",
      `its target is of a kind that is not served: ${kind} of ${apiVersion}${meant === undefined ? "" : `; perhaps ${meant.kind} of ${meant.apiVersion} is meant`}`,
      {
        evidence: [message],
        mends:
          meant === undefined
            ? []
            : [retargeted({ spec, metadata }, { kind: meant.kind, apiVersion: meant.apiVersion })],
      },
    )
  }
  if (/not found/i.test(message)) {
    const served = await reader.kindOf({ apiVersion, kind }).catch(() => undefined)
    const there = served === undefined ? [] : ((await reader.listIfAllowed(served, metadata.namespace)) ?? [])
    const near = nearest(
      name,
      there.map((one) => one.metadata.name ?? ""),
    )
    const instead = near === undefined ? "" : `; there is ${near}`
    return finding("autoscaler-target-missing", `its target ${kind} ${name} does not exist${instead}`, {
      evidence: [message],
    })
  }
  return finding("autoscaler-cannot-scale", `it cannot scale ${kind} ${name}: ${message}`, { evidence: [message] })
}

const retargeted = (
  { spec, metadata }: Pick<HorizontalPodAutoscaler, "spec" | "metadata">,
  change: Partial<HorizontalPodAutoscaler["spec"]["scaleTargetRef"]>,
): Mend =>
  mend(
    command`kubectl patch hpa ${metadata.name ?? ""} -n ${metadata.namespace ?? ""} --type=merge -p ${JSON.stringify({ spec: { scaleTargetRef: { ...spec.scaleTargetRef, ...change } } })}`,
    "names the target by its kind",
  )

/** The words of clients of the metrics APIs that get nothing. */
const NO_METRICS =
  /no metrics (?:returned|known)|unable to (?:fetch|get) metrics|did not receive metrics|could not find the requested/i

async function metricFindings(
  autoscaler: HorizontalPodAutoscaler,
  reason: string,
  message: string,
  ward: Ward,
): Promise<readonly Finding[]> {
  const { kind, name } = autoscaler.spec.scaleTargetRef
  const words = command`${`${kind.toLowerCase()}/${name}`} -n ${autoscaler.metadata.namespace ?? ""}`
  const events = (await eventsOf(ward.reader, autoscaler)).slice(0, 3).map(eventLine)
  const evidence = [`${reason}: ${message}`, ...events]
  if (reason === "ScalingDisabled")
    return [
      finding("autoscaler-disabled", `its target ${kind} ${name} has 0 replicas, which turns the autoscaler off`, {
        evidence,
        mends: [
          mend(
            command`kubectl scale ${words} --replicas=${autoscaler.spec.minReplicas ?? 1}`,
            "starts the pods and the autoscaler",
          ),
        ],
      }),
    ]
  const several = /^pods by selector (\S+) are controlled by multiple HPAs: \[(.*)\]$/.exec(message)
  if (reason === "AmbiguousSelector" && several !== null) {
    const others = [...several[2]!.matchAll(/\{([^\s{}]+) [^\s{}]+\}/g)]
      .map(([, other = ""]) => other)
      .filter((other) => other !== autoscaler.metadata.name)
    return [
      finding(
        "autoscaler-ambiguous",
        `HorizontalPodAutoscaler ${others.join(", ")} scales the same pods (${several[1]!}), so that none of them does`,
        { evidence, hints: ["keep one of them; several metrics belong into one autoscaler"] },
      ),
    ]
  }
  const request = /missing request for (\S+) in container (\S+) of Pod (\S+)/.exec(message)
  if (request !== null)
    return [
      finding(
        "autoscaler-requests-missing",
        `it reckons in parts of the ${request[1]!} request, and container ${request[2]!} of pod ${request[3]!} requests none`,
        {
          evidence,
          hints: [command`kubectl set resources ${words} -c ${request[2]!} --requests=${request[1]!}=AMOUNT`],
        },
      ),
    ]
  if (NO_METRICS.test(message)) {
    const group = /external/i.test(message)
      ? "v1beta1.external.metrics.k8s.io"
      : /custom/i.test(message)
        ? "v1beta1.custom.metrics.k8s.io"
        : "v1beta1.metrics.k8s.io"
    const behind = await ward.ask(refTo(API_SERVICES, undefined, group))
    const missing = behind.findings.some(({ cause }) => cause.code === "apiservice-missing")
    const real = through(refTo(API_SERVICES, undefined, group), behind)
    if (missing)
      return [
        finding(
          "autoscaler-metrics-missing",
          `nobody serves the metrics that it needs: there is no APIService ${group}`,
          { evidence, hints: ["install what serves it: metrics-server for CPU and memory, an adapter for others"] },
        ),
      ]
    if (real.length > 0) return real
    const target = await ward.ask(targetOf(autoscaler))
    const why = through(targetOf(autoscaler), target)
    return why.length > 0
      ? why
      : [
          within(
            finding(
              "autoscaler-metrics-missing",
              `there are no metrics of the pods of ${kind} ${name} (yet): ${message}`,
              { evidence, weight: "waiting" },
            ),
            ward.reader.now,
            changedAt(autoscaler),
            USUAL_MS,
          ),
        ]
  }
  return [finding("autoscaler-inactive", `it cannot reckon how many pods there should be: ${message}`, { evidence })]
}
