import { decodeMessage } from "../../pkg/apimachinery/decoding/decode.ts"
import { DecodeError } from "../../pkg/apimachinery/decoding/decoder-cursor.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { isAlreadyExists, isNotFound } from "../../pkg/apimachinery/errors.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../pkg/apimachinery/meta.ts"
import { RawJson } from "../../pkg/apimachinery/json/raw-json.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import { ControllerRevision } from "../../pkg/api/apps/v1/controllerrevision.ts"
import { PodTemplateSpec } from "../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import type { ReconcileContext } from "../../pkg/controller/controller.ts"
import { controllerRef } from "../../pkg/controller/owned.ts"
import { claim } from "./pod-control/claim.ts"

/**
 * Versions of StatefulSets' and DaemonSets' templates, kept as ControllerRevisions. Source: pkg/controller/history,
 * pkg/controller/daemon/update.go.
 */

/** A label of pods, and of the revisions of DaemonSets. */
export const REVISION_LABEL = "controller-revision-hash"

export interface Revisioned extends KubeObject {
  readonly spec: {
    readonly selector: LabelSelector
    readonly template: PodTemplateSpec
    readonly revisionHistoryLimit?: number | undefined
  }
  readonly status: { readonly collisionCount?: number | undefined }
}

export interface History {
  /** The revision of the current template. */
  readonly update: ControllerRevision
  /** All revisions, oldest first, including the current one. */
  readonly all: readonly ControllerRevision[]
  readonly collisionCount: number | undefined
}

/**
 * Returns the data of a revision, a patch that kubectl's `rollout undo` applies, byte for byte as upstream writes it.
 * Source: getPatch in daemon/update.go.
 */
const dataOf = ({ spec: { template } }: Revisioned): RawJson =>
  RawJson.of({ spec: { template: { ...template, $patch: "replace" } } })

const templates = new WeakMap<ControllerRevision, PodTemplateSpec>()

/** Returns the template of a revision, also of one that upstream before 1.34 wrote with `creationTimestamp: null`. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  let template = templates.get(revision)
  if (template === undefined) {
    const { spec } = (revision.data?.value ?? {}) as { readonly spec?: { readonly template?: object } }
    const { $patch: _, ...sent } = { $patch: "", ...spec?.template }
    template = decodeMessage(PodTemplateSpec, sent).object as PodTemplateSpec
    templates.set(revision, template)
  }
  return template
}

/** Whether a revision has this template. Users may have written invalid data into it. */
function isOf(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  try {
    return deepEqual(templateOf(revision), template)
  } catch (err) {
    if (err instanceof DecodeError) return false
    throw err
  }
}

/** What differs between the revisions of DaemonSets and of StatefulSets. */
export interface RevisionKind<T extends Revisioned> {
  readonly resource: Resource<T>
  /** The label of a revision that holds its hash. */
  readonly label: string
  /** Returns the last part of a revision's name. */
  hash(template: PodTemplateSpec, data: RawJson, collisionCount: number | undefined): string
}

/** Finds or creates the revision of the object's current template; a template that returns gets the newest number. */
export async function syncHistory<T extends Revisioned>(
  owner: T,
  kind: RevisionKind<T>,
  context: ReconcileContext,
): Promise<History> {
  const { client } = context
  const selector = fromLabelSelector(owner.spec.selector)
  const claimed = await claim(
    {
      owner,
      ownerResource: kind.resource,
      resource: ControllerRevision,
      matches: ({ metadata }) => selector.matches(metadata.labels),
    },
    context,
  )
  const revisions = [...claimed].sort(byRevision)
  const { template } = owner.spec
  const equal = revisions.findLast((revision) => isOf(revision, template))
  const newest = revisions.at(-1)
  const { collisionCount } = owner.status
  if (equal !== undefined && equal === newest) return { update: equal, all: revisions, collisionCount }
  const number = (newest?.revision ?? 0) + 1
  if (equal !== undefined) {
    const update = await client.update(ControllerRevision, { ...equal, revision: number })
    return { update, all: [...revisions.filter((revision) => revision !== equal), update], collisionCount }
  }
  for (let collisions = collisionCount; ; collisions = (collisions ?? 0) + 1) {
    const made = revisionOf(owner, kind, number, collisions)
    // The garbage collector deletes the revisions of an owner that is being deleted: a new one would be deleted too,
    // and created again.
    if (owner.metadata.deletionTimestamp !== undefined) return { update: made, all: revisions, collisionCount }
    try {
      const update = await client.create(ControllerRevision, made)
      return { update, all: [...revisions, update], collisionCount: collisions }
    } catch (err) {
      if (!isAlreadyExists(err)) throw err
      const there = await client.get(ControllerRevision, made.metadata)
      if (isOf(there, template)) return { update: there, all: [...revisions, there], collisionCount }
    }
  }
}

function revisionOf<T extends Revisioned>(
  owner: T,
  { label, hash: hashOf }: RevisionKind<T>,
  revision: number,
  collisions: number | undefined,
): ControllerRevision {
  const data = dataOf(owner)
  const hash = hashOf(owner.spec.template, data, collisions)
  const { annotations, namespace, name } = owner.metadata
  return {
    apiVersion: ControllerRevision.apiVersion,
    kind: ControllerRevision.kind,
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      annotations,
      labels: { ...owner.spec.template.metadata.labels, [label]: hash },
      ownerReferences: [controllerRef(owner)],
    },
    data,
    revision,
  }
}

/** Deletes the oldest revisions that are not `live`, beyond revisionHistoryLimit. */
export async function trimRevisions(
  owner: Revisioned,
  all: readonly ControllerRevision[],
  live: (revision: ControllerRevision) => boolean,
  { client }: ReconcileContext,
): Promise<void> {
  const limit = owner.spec.revisionHistoryLimit
  if (limit === undefined) return
  const dead = all.filter((revision) => !live(revision))
  for (const revision of dead.slice(0, Math.max(0, dead.length - limit))) {
    await client.delete(ControllerRevision, revision.metadata).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  }
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision
  const [x, y] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""]
  return x === y ? ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1) : x < y ? -1 : 1
}
