import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceClaimTemplate } from "../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
import { keyFrom, type Index } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import {
  canBeReserved,
  consumerOf,
  isClaimOf,
  isReservedFor,
  needsNoDevices,
  podOwner,
  resourceClaimName,
  type PodResourceClaim,
} from "../../../pkg/pods/resource-claims.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { podsByResourceClaim } from "./indexes.ts"

/** As whom the status of pods is applied. */
const FIELD_MANAGER = "ResourceClaimController"
/** Names the pod's claim that a claim was made for. Source: resource/v1 PodResourceClaimAnnotation. */
const FOR_CLAIM = "resource.kubernetes.io/pod-claim-name"
/** A name of 63 characters, without the last hyphen and the five that chance gives. */
const LONGEST_BASE = 57

const podsByTemplate: Index<Pod> = {
  name: "resource-claim-templates",
  of: ({ metadata, spec }) =>
    (spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
      name === undefined ? [] : [`${metadata.namespace}/${name}`],
    ),
}

const claimsByOwner: Index<ResourceClaim> = {
  name: "owner",
  of: (claim) => {
    const owner = controllerOf(claim)
    return owner?.kind === "Pod" ? [owner.uid] : []
  },
}

/**
 * Makes the claims for devices that pods have by templates, names them in the pods' statuses, and reserves claims for
 * pods that got their node without the scheduler. Source: pkg/controller/resourceclaim syncPod.
 */
export const claimsOfPods = defineController<Pod>({
  name: "resourceclaim-controller",
  eventSource: "resource_claim",
  reconciles: Pod,
  concerns: ({ metadata, spec }) => metadata.deletionTimestamp === undefined && (spec.resourceClaims ?? []).length > 0,
  watches: [
    {
      resource: ResourceClaimTemplate,
      keys: ({ metadata }, { informers }, _old, deleted) =>
        deleted ? [] : informers.of(Pod).by(podsByTemplate, keyFrom(metadata)).map(podKey),
    },
    {
      resource: ResourceClaim,
      keys: ({ metadata }, { informers }) => informers.of(Pod).by(podsByResourceClaim, keyFrom(metadata)).map(podKey),
    },
  ],
  async reconcile(key, context) {
    const pod = context.informers.of(Pod).get(key)
    // The claim of a pod that is done was taken away, and is not to come back.
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || needsNoDevices(pod)) return
    const made: { readonly name: string; readonly resourceClaimName: string }[] = []
    for (const asked of pod.spec.resourceClaims ?? [])
      try {
        const claim = await claimFor(pod, asked, context)
        if (claim !== undefined) made.push({ name: asked.name, resourceClaimName: claim.metadata.name ?? "" })
      } catch (err) {
        const reason = errorMessage(err)
        context.events.event(pod, "Warning", "FailedResourceClaimCreation", `PodResourceClaim ${asked.name}: ${reason}`)
        throw err
      }
    if (made.length > 0) {
      const { apiVersion, kind } = Pod
      const { namespace, name } = pod.metadata
      const body = { apiVersion, kind, metadata: { namespace, name }, status: { resourceClaimStatuses: made } }
      const options = { subresource: "status", fieldManager: FIELD_MANAGER, force: true } as const
      await context.client.patch(Pod, { namespace, name }, { type: "apply", body }, options)
    }
    // The scheduler reserves claims for pods that it places.
    if ((pod.spec.nodeName ?? "") !== "") await reserve(pod, context)
  },
})

const podKey = ({ metadata }: Pod): string => keyFrom(metadata)

/** The claim that is to be named in the pod's status: one that was made now, or before without being named. */
async function claimFor(
  pod: Pod,
  asked: PodResourceClaim,
  { client, informers }: ReconcileContext,
): Promise<ResourceClaim | undefined> {
  const { namespace, name: podName = "", uid = "" } = pod.metadata
  const named = resourceClaimName(pod, asked)
  if (named === null) return undefined
  const there = named === undefined ? undefined : informers.of(ResourceClaim).get(`${namespace}/${named}`)
  const { resourceClaimTemplateName: templateName } = asked
  if (templateName === undefined || (there !== undefined && isClaimOf(pod, there))) return undefined
  const orphan = informers
    .of(ResourceClaim)
    .by(claimsByOwner, uid)
    .find(({ metadata }) => metadata.annotations?.[FOR_CLAIM] === asked.name)
  if (orphan !== undefined) return orphan
  const template = informers.of(ResourceClaimTemplate).get(`${namespace}/${templateName}`)
  if (template === undefined)
    throw new Error(
      `resource claim template ${JSON.stringify(templateName)}: resourceclaimtemplate.resource.k8s.io ` +
        `${JSON.stringify(templateName)} not found`,
    )
  const { metadata, spec } = template.spec
  return client.create(ResourceClaim, {
    metadata: {
      namespace,
      generateName: baseName(podName, asked.name),
      labels: metadata.labels,
      annotations: { ...metadata.annotations, [FOR_CLAIM]: asked.name },
      ownerReferences: [podOwner(pod)],
    },
    spec,
  })
}

/** Both names are shortened, in proportion, where they are too long together. */
export function baseName(pod: string, claim: string): string {
  const whole = `${pod}-${claim}-`
  if (whole.length <= LONGEST_BASE) return whole
  const short = `${pod.slice(0, Math.floor((pod.length * LONGEST_BASE) / whole.length))}-`
  return short + claim.slice(0, Math.floor((claim.length * LONGEST_BASE) / whole.length))
}

async function reserve(pod: Pod, { client, informers }: ReconcileContext): Promise<void> {
  for (const asked of pod.spec.resourceClaims ?? []) {
    const name = resourceClaimName(pod, asked)
    const claim = informers.of(ResourceClaim).get(`${pod.metadata.namespace}/${name ?? ""}`)
    if (claim?.status.allocation === undefined || isReservedFor(claim, pod) || !canBeReserved(claim)) continue
    if (asked.resourceClaimName === undefined && !isClaimOf(pod, claim)) continue
    const reservedFor = [...(claim.status.reservedFor ?? []), consumerOf(pod)]
    await client.updateStatus(ResourceClaim, { ...claim, status: { ...claim.status, reservedFor } })
  }
}
