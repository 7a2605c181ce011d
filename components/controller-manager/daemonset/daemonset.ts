import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { DaemonSet, type DaemonSetStatus } from "../../../pkg/api/apps/v1/daemonset.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { isPodAvailable, isPodReady, isPodTerminal, untilAvailable } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { adopters, owned } from "../../../pkg/controller/owned.ts"
import { claim } from "../pod-control/claim.ts"
import { createPod, deletePod, slowStart } from "../pod-control/pod-control.ts"
import { REVISION_LABEL, type RevisionKind, syncHistory, trimRevisions } from "../revisions.ts"
import { CreationPace } from "../creation-pace.ts"
import { templateHash } from "../deployment/template-hash.ts"
import { FailedPodBackoff } from "./failed-pods.ts"
import { byAge, planPods } from "./manage.ts"
import type { Daemons, Plan } from "./plan.ts"
import { nodeOf, placementOn, templateFor } from "./placement.ts"
import { hashOf, planUpdate } from "./rolling.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** Most pods created or deleted at once. Source: BurstReplicas in pkg/controller/daemon. */
const BURST = 250

const REVISIONS: RevisionKind<DaemonSet> = {
  resource: DaemonSet,
  label: REVISION_LABEL,
  hash: (template, _data, collisionCount) => templateHash(template, collisionCount),
}

/** Keeps a pod on every node that fits the DaemonSet. Source: pkg/controller/daemon/{daemon_controller,update}.go. */
export function daemonSetController(): Controller<DaemonSet> {
  let failed: FailedPodBackoff | undefined
  let pace: CreationPace | undefined
  return defineController<DaemonSet>({
    name: "daemonset-controller",
    reconciles: DaemonSet,
    watches: [
      owned(
        Pod,
        DaemonSet,
        adopters(DaemonSet, ({ spec }) => fromLabelSelector(spec.selector)),
      ),
      owned(ControllerRevision, DaemonSet),
      watching(Node, (node, { informers }, old, deleted) =>
        informers
          .of(DaemonSet)
          .list()
          .filter((set) => {
            if (deleted || old === undefined) return true
            return !deepEqual(placementOn(node, set), placementOn(old, set))
          })
          .map(({ metadata }) => keyFrom(metadata)),
      ),
    ],
    start({ clock }) {
      failed = new FailedPodBackoff(clock)
      pace = new CreationPace(clock)
    },
    async reconcile(key, context) {
      const set = context.informers.of(DaemonSet).get(key)
      if (set === undefined) {
        failed!.keepOnly(
          new Set(
            context.informers
              .of(DaemonSet)
              .list()
              .map(({ metadata }) => metadata.uid ?? ""),
          ),
        )
        return
      }
      if (fromLabelSelector(set.spec.selector).everything) {
        context.events.event(
          set,
          "Warning",
          "SelectingAll",
          "This daemon set is selecting all pods. A non-empty selector is required.",
        )
        return
      }
      return sync(set, failed!, pace!, context)
    },
  })
}

async function sync(
  set: DaemonSet,
  failed: FailedPodBackoff,
  pace: CreationPace,
  context: ReconcileContext,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const { informers, clock } = context
  const selector = fromLabelSelector(set.spec.selector)
  const pods = await claim(
    {
      owner: set,
      ownerResource: DaemonSet,
      resource: Pod,
      matches: (pod) => selector.matches(pod.metadata.labels),
    },
    context,
  )
  if (set.metadata.deletionTimestamp !== undefined) return
  const { update, all, collisionCount } = await syncHistory(set, REVISIONS, context)
  const hash = update.metadata.labels?.[REVISION_LABEL] ?? ""
  // A pod that has ended and is being deleted can be replaced already.
  const daemons: Daemons = {
    set,
    hash,
    nodes: informers.of(Node).list(),
    podsOn: byNode(pods.filter((pod) => !(isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined))),
  }
  const planned = planPods(daemons, failed, context)
  const wait = planned.create.length === 0 ? 0 : pace.wait(set, daemons.nodes.length)
  const plan = wait > 0 ? { ...planned, create: [], retryIn: Math.min(wait, planned.retryIn ?? wait) } : planned
  let failure = await carryOut(set, hash, plan, context)
  pace.made(set, plan.create.length)
  // An update waits until the informer shows these writes.
  if (
    failure === undefined &&
    plan.remove.length + plan.create.length === 0 &&
    set.spec.updateStrategy.type !== "OnDelete"
  )
    failure = await carryOut(set, hash, planUpdate(daemons, clock.now()), context)
  await writeStatus(set, statusOf(daemons, collisionCount, clock.now()), context)
  const live = new Set([hash, ...pods.map(hashOf)])
  await trimRevisions(set, all, ({ metadata }) => live.has(metadata.labels?.[REVISION_LABEL] ?? ""), context)
  if (failure !== undefined) throw failure
  const minReady = set.spec.minReadySeconds ?? 0
  const waits = [
    plan.retryIn,
    ...(minReady === 0 ? [] : pods.map((pod) => untilAvailable(pod, minReady, clock.now()))),
  ].filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : { requeueAfter: smallest(waits) }
}

function byNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const map = new Map<string, Pod[]>()
  for (const pod of pods) {
    const node = nodeOf(pod)
    if (node !== undefined) map.set(node, [...(map.get(node) ?? []), pod])
  }
  return map
}

/** Executes a plan. Returns the first failure. */
async function carryOut(
  set: DaemonSet,
  hash: string,
  { create, remove }: Plan,
  context: ReconcileContext,
): Promise<unknown> {
  const nodes = create.slice(0, BURST)
  const creating = await slowStart(nodes.length, () => createPod(set, templateFor(set, hash, nodes.shift()!), context))
  const removing = await Promise.allSettled(remove.slice(0, BURST).map((pod) => deletePod(set, pod, context)))
  if (creating.failure !== undefined) return creating.failure
  return removing.find((result) => result.status === "rejected")?.reason as unknown
}

function statusOf(
  { set, hash, nodes, podsOn }: Daemons,
  collisionCount: number | undefined,
  now: number,
): DaemonSetStatus {
  const count = { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 }
  let [updated, available] = [0, 0]
  for (const node of nodes) {
    const [pod] = [...(podsOn.get(node.metadata.name ?? "") ?? [])].sort(byAge)
    if (!placementOn(node, set).run) {
      if (pod !== undefined) count.numberMisscheduled++
      continue
    }
    count.desiredNumberScheduled++
    if (pod === undefined) continue
    count.currentNumberScheduled++
    if (isPodReady(pod)) count.numberReady++
    if (isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)) available++
    if (hashOf(pod) === hash) updated++
  }
  const unavailable = count.desiredNumberScheduled - available
  const { conditions } = set.status
  return {
    ...count,
    observedGeneration: set.metadata.generation,
    ...(updated === 0 ? {} : { updatedNumberScheduled: updated }),
    ...(available === 0 ? {} : { numberAvailable: available }),
    ...(unavailable === 0 ? {} : { numberUnavailable: unavailable }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  }
}

async function writeStatus(set: DaemonSet, status: DaemonSetStatus, { client }: ReconcileContext): Promise<void> {
  if (deepEqual(status, set.status)) return
  await client.updateStatus(DaemonSet, { ...set, status }).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}
