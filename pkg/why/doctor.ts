import type { KubeObject } from "../apimachinery/resource.ts"
import type { Finding, Link, ObjectRef, Opinion } from "./answer.ts"
import type { Kind } from "./reading/kinds.ts"
import type { Reader } from "./reading/reader.ts"

/** What a doctor asks while it examines an object. */
export interface Ward {
  readonly reader: Reader
  /** Returns what is known of another object, which is examined once; of one that is being examined, that it is well. */
  ask(ref: ObjectRef): Promise<Opinion>
}

/**
 * Knows one kind: looks at an object and at what it needs, and says what is wrong. What it throws makes the answer
 * unknown; it does not guess.
 */
export interface Doctor<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>
  examine(object: T, ward: Ward): Promise<Opinion>
}

/** Declares a doctor, whose type of object the list of doctors forgets. */
export const doctor = <T extends KubeObject>(
  kind: Kind<T>,
  examine: (object: T, ward: Ward) => Promise<Opinion>,
): Doctor => ({ kind, examine }) as unknown as Doctor

export const healthy = (summary: string, findings: readonly Finding[] = []): Opinion => ({
  healthy: true,
  summary,
  findings,
  unknown: [],
})

export const unwell = (summary: string, findings: readonly Finding[], unknown: readonly string[] = []): Opinion => ({
  healthy: false,
  summary,
  findings,
  unknown,
})

/** Returns the findings of another object, whose link to this one they get. */
export const through = (ref: ObjectRef, { summary, findings }: Opinion): readonly Finding[] =>
  findings.filter(({ weight }) => weight !== "note").map((one) => behind({ object: ref, says: summary }, one))

/** Returns a finding that is reached by a further link. */
export const behind = (link: Link, one: Finding): Finding => ({ ...one, chain: [link, ...one.chain] })

/** Asks about another object and returns its findings, with the link to it. */
export async function askThrough(ward: Ward, ref: ObjectRef): Promise<Opinion> {
  const opinion = await ward.ask(ref)
  return { ...opinion, findings: through(ref, opinion) }
}

/** Returns the reference to the controller that owns an object; undefined for one without. */
export function controllerOf(object: KubeObject): ObjectRef | undefined {
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner === undefined) return undefined
  const { namespace } = object.metadata
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.name,
    ...(namespace === undefined ? {} : { namespace }),
  }
}

/** Whether an object belongs to the controller `owner`. */
export const isOwnedBy = (object: KubeObject, owner: KubeObject): boolean =>
  object.metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === owner.metadata.uid) ===
  true

export const isSame = (a: ObjectRef, b: ObjectRef): boolean =>
  a.kind === b.kind && a.name === b.name && a.namespace === b.namespace && a.apiVersion === b.apiVersion
