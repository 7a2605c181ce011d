import { isConflict } from "../../../pkg/apimachinery/errors.ts"
import { setCondition } from "../../../pkg/apimachinery/conditions.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { labelsOf, selectingObjects } from "../selection/selecting-objects.ts"
import { selectedPods } from "../selection/selected-pods.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
import { PodDisruptionBudget, type PodDisruptionBudgetStatus } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { expectationOf } from "./expected.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/** How long a granted eviction may take until the pod is deleted. Source: DeletionTimeout. */
const EVICTION_TIMEOUT_MS = 120_000

const budgets = selectingObjects<PodDisruptionBudget>("selected label", ({ spec }) => fromLabelSelector(spec.selector))

/** Kinds watched for the number of pods that owners want; a change of it shows in their pods. */
const SCALED = [ReplicaSet, Deployment, ReplicationController, StatefulSet].map((resource) => ({
  resource,
  keys: () => [],
}))

/**
 * Writes the status of each PodDisruptionBudget: how many of its pods may be evicted now. Source:
 * pkg/controller/disruption/disruption.go.
 */
export const disruptionController = defineController<PodDisruptionBudget>({
  name: "disruption-controller",
  eventSource: "controllermanager",
  reconciles: PodDisruptionBudget,
  watches: [
    {
      resource: Pod,
      keys: (pod, { informers }, old) =>
        budgets
          .selecting(informers.of(PodDisruptionBudget), pod.metadata.namespace ?? "", ...labelsOf(pod, old))
          .map(({ metadata }) => keyFrom(metadata)),
    },
    ...SCALED,
  ],
  async reconcile(key, context) {
    const budget = context.informers.of(PodDisruptionBudget).get(key)
    if (budget === undefined) return
    try {
      return await sync(budget, context)
    } catch (err) {
      if (isConflict(err)) throw err
      await failSafe(budget, err, context)
    }
  },
})

async function sync(
  budget: PodDisruptionBudget,
  context: ReconcileContext,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const { informers, clock, events } = context
  const selector = fromLabelSelector(budget.spec.selector)
  const pods = selectedPods(informers.of(Pod), budget.metadata.namespace ?? "", selector)
  if (pods.length === 0) events.event(budget, "Normal", "NoPods", "No matching pods found")
  const { expected, desired, unmanaged } = expectationOf(budget, pods, context)
  if (unmanaged) {
    events.event(
      budget,
      "Warning",
      "UnmanagedPods",
      `Pods selected by this PodDisruptionBudget (selector: ${selector.toString()}) were found to be ` +
        "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in " +
        `undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an ` +
        "integer value.",
    )
  }
  const now = clock.now()
  const disrupted: Record<string, string> = {}
  const waits: number[] = []
  for (const pod of pods) {
    const name = pod.metadata.name ?? ""
    const since = budget.status.disruptedPods?.[name]
    if (since === undefined || pod.metadata.deletionTimestamp !== undefined) continue
    const left = since === null ? 0 : Date.parse(since) + EVICTION_TIMEOUT_MS - now
    if (since === null || left < 0) {
      events.event(
        pod,
        "Warning",
        "NotDeleted",
        `Pod was expected by PDB ${budget.metadata.namespace}/${budget.metadata.name} to be deleted but it wasn't`,
      )
      continue
    }
    disrupted[name] = since
    waits.push(left + 1)
  }
  const healthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disrupted[pod.metadata.name ?? ""] === undefined &&
      isPodReady(pod),
  ).length
  // If no pods are expected, none has been seen yet: the first pods must not be evicted before they are counted.
  const disruptionsAllowed = expected <= 0 ? 0 : Math.max(0, healthy - desired)
  await write(
    budget,
    {
      disruptionsAllowed,
      currentHealthy: healthy,
      desiredHealthy: desired,
      expectedPods: expected,
      observedGeneration: budget.metadata.generation,
      ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
      conditions: withCondition(
        budget,
        disruptionsAllowed > 0 ? "True" : "False",
        disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
        "",
        context,
      ),
    },
    context,
  )
  return waits.length === 0 ? undefined : { requeueAfter: smallest(waits) }
}

/** Allows no eviction when the pods cannot be counted. */
async function failSafe(budget: PodDisruptionBudget, err: unknown, context: ReconcileContext): Promise<void> {
  const message = errorMessage(err)
  context.events.event(
    budget,
    "Warning",
    "CalculateExpectedPodCountFailed",
    `Failed to calculate the number of expected pods: ${message}`,
  )
  await write(
    budget,
    {
      ...budget.status,
      disruptionsAllowed: 0,
      conditions: withCondition(budget, "False", "SyncFailed", message, context),
    },
    context,
  )
}

type Conditions = NonNullable<PodDisruptionBudgetStatus["conditions"]>

function withCondition(
  { metadata, status }: PodDisruptionBudget,
  value: "True" | "False",
  reason: string,
  message: string,
  { clock }: ReconcileContext,
): Conditions {
  const before = status.conditions?.find(({ type }) => type === "DisruptionAllowed")
  const lastTransitionTime = before?.status === value ? before.lastTransitionTime : timestamp(clock)
  const observedGeneration = metadata.generation
  return setCondition(status.conditions, {
    type: "DisruptionAllowed",
    status: value,
    reason,
    message,
    lastTransitionTime,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  })
}

async function write(
  budget: PodDisruptionBudget,
  status: PodDisruptionBudgetStatus,
  { client }: ReconcileContext,
): Promise<void> {
  if (!deepEqual(status, budget.status)) await client.updateStatus(PodDisruptionBudget, { ...budget, status })
}
