import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { Eviction } from "../../../../../pkg/api/policy/v1/eviction.ts"
import { PodDisruptionBudget } from "../../../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { decodeSent } from "../../decode.ts"
import { ApiError, badRequest, notFound, type Status } from "../../../../../pkg/apimachinery/errors.ts"
import { fromLabelSelector } from "../../../../../pkg/apimachinery/selectors/labels.ts"
import { timestamp } from "../../../../../pkg/clock/clock.ts"
import { ignoresBudgets, mayGoUnready } from "../../../../../pkg/pods/eviction-rules.ts"
import { isPodReady, transitionTime } from "../../../../../pkg/pods/pod-state.ts"
import { OWN_MANAGER, OWN_USER } from "../../../call/own-user.ts"
import type { ApiRequest, ApiResult, RequestOptions } from "../../../call/request.ts"
import { admitBody } from "../../admission-attributes.ts"
import type { RegistryContext } from "../../context.ts"
import { checkPreconditions, deleteObject } from "../../verbs/delete.ts"
import { updateBySubresource } from "../../subresource-update.ts"

/**
 * Most evicted pods that the disruption controller has not seen yet; beyond it evictions are refused. Source:
 * eviction.go MaxDisruptedPodSize.
 */
const MOST_UNSEEN = 2000

/**
 * POST pods/eviction: deletes a pod if its disruption budget allows it. Source:
 * pkg/registry/core/pod/storage/eviction.go.
 */
export async function evict(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const sent = decodeSent(Eviction, inThisVersion(request.body), request)
  const { namespace, name = "" } = request
  if ((sent.metadata.name ?? "") !== name) throw badRequest("name in URL does not match name in Eviction object")
  const pod = context.objects.get(Pod, { namespace, name })
  if (pod === undefined) throw notFound(request.resource, name)
  const eviction = await admitBody(context, request, sent)
  const options = deleteOptionsOf(eviction, request.options)
  if (!ignoresBudgets(pod)) await chargeBudget(context, request, pod, options)
  const deletion = options.dryRun === true ? options : await markDisrupted(context, request, options)
  const asDeletion: ApiRequest = { ...request, subresource: undefined, verb: "delete", options: deletion }
  await deleteObject(context, asDeletion, { admission: "none" })
  return { kind: "status", code: 201, status: SUCCESS }
}

/**
 * Sets the condition DisruptionTarget in the pod before it is deleted, because the failure policy of a Job reads it.
 * Source: eviction.go addConditionAndDeletePod.
 */
async function markDisrupted(
  context: RegistryContext,
  request: ApiRequest,
  options: RequestOptions,
): Promise<RequestOptions> {
  const note = {
    type: "DisruptionTarget",
    status: "True" as const,
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastProbeTime: null,
  }
  const { stored } = await updateBySubresource(
    context,
    Pod,
    { ...request, subresource: undefined, options },
    {
      change(pod) {
        checkPreconditions(request.resource, request.name ?? "", pod, options)
        const { conditions = [] } = pod.status
        if (
          conditions.some(
            ({ type, status, reason }) => type === note.type && status === note.status && reason === note.reason,
          )
        )
          return undefined
        const lastTransitionTime = transitionTime(pod, note.type, note.status, timestamp(context.clock))
        const others = conditions.filter(({ type }) => type !== note.type)
        return { ...pod, status: { ...pod.status, conditions: [...others, { ...note, lastTransitionTime }] } }
      },
    },
  )
  const { preconditions } = options
  const { resourceVersion } = stored.object.metadata
  return preconditions?.resourceVersion === undefined || resourceVersion === undefined
    ? options
    : { ...options, preconditions: { ...preconditions, resourceVersion } }
}

/**
 * Accepts policy/v1beta1, which clients before 1.22 send, has the same fields, and is still served for pods/eviction.
 * Source: eviction.go AcceptsGroupVersion.
 */
const inThisVersion = (body: unknown): unknown =>
  typeof body === "object" && body !== null && "apiVersion" in body && body.apiVersion === "policy/v1beta1"
    ? { ...body, apiVersion: "policy/v1" }
    : body

const SUCCESS: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

function deleteOptionsOf({ deleteOptions }: Eviction, { dryRun }: RequestOptions): RequestOptions {
  const { gracePeriodSeconds, preconditions, dryRun: dry } = deleteOptions ?? {}
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined
      ? {}
      : {
          preconditions: {
            ...(preconditions.uid === undefined ? {} : { uid: preconditions.uid }),
            ...(preconditions.resourceVersion === undefined ? {} : { resourceVersion: preconditions.resourceVersion }),
          },
        }),
    ...(dryRun === true || (dry ?? []).length > 0 ? { dryRun: true } : {}),
  }
}

async function chargeBudget(
  context: RegistryContext,
  request: ApiRequest,
  pod: Pod,
  options: RequestOptions,
): Promise<void> {
  const budgets = context.objects
    .list(PodDisruptionBudget, pod.metadata.namespace)
    .filter(({ spec }) => fromLabelSelector(spec.selector).matches(pod.metadata.labels ?? {}))
  if (budgets.length > 1)
    throw new ApiError(
      "InternalError",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    )
  const [budget] = budgets
  if (budget === undefined) return
  if (!isPodReady(pod) && mayGoUnready(budget)) return
  // The server charges the budget in its own name: nobody needs a right on budgets to evict, nor owns their fields.
  const target: ApiRequest = {
    ...request,
    user: OWN_USER,
    userAgent: OWN_MANAGER,
    resource: PodDisruptionBudget,
    subresource: "status",
    name: budget.metadata.name,
    options,
  }
  await updateBySubresource(context, PodDisruptionBudget, target, {
    change: (old) => charged(context, old, pod),
    isTracked: true,
  })
}

function charged({ clock }: RegistryContext, budget: PodDisruptionBudget, pod: Pod): PodDisruptionBudget {
  const { metadata, status } = budget
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    throw tooMany(
      "Cannot evict pod as it would violate the pod's disruption budget.",
      `The disruption budget ${metadata.name} is still being processed by the server.`,
      10,
    )
  if (status.disruptionsAllowed < 0)
    throw new ApiError(
      "Forbidden",
      `poddisruptionbudgets.policy ${JSON.stringify(metadata.name)} is forbidden: pdb disruptions allowed is negative`,
    )
  if (Object.keys(status.disruptedPods ?? {}).length > MOST_UNSEEN)
    throw new ApiError(
      "Forbidden",
      `poddisruptionbudgets.policy ${JSON.stringify(metadata.name)} is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller`,
    )
  if (status.disruptionsAllowed === 0)
    throw tooMany(
      "Cannot evict pod as it would violate the pod's disruption budget.",
      `The disruption budget ${metadata.name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`,
    )
  const disruptionsAllowed = status.disruptionsAllowed - 1
  const disruptedPods = { ...status.disruptedPods, [pod.metadata.name!]: timestamp(clock) }
  return { ...budget, status: { ...status, disruptionsAllowed, disruptedPods } }
}

const tooMany = (message: string, why: string, retryAfterSeconds = 0): ApiError =>
  new ApiError("TooManyRequests", message, {
    causes: [{ reason: "DisruptionBudget", message: why }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  })
