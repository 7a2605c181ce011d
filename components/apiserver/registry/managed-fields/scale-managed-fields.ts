import { Scale } from "../../../../pkg/api/autoscaling/v1/scale.ts"
import type { ManagedFieldsEntry } from "../../../../pkg/apimachinery/meta.ts"
import {
  difference,
  intersection,
  isEmpty,
  LEAF,
  type FieldSet,
} from "../../../../pkg/apimachinery/patch/apply/fieldset.ts"
import { entriesFrom, entryOf, sorted, withSet, type Entry } from "../../../../pkg/apimachinery/patch/apply/managers.ts"

/**
 * The managers of the number of replicas, in a workload and in its Scale. A write to /scale changes the managers in the
 * Scale, which are then copied to the workload. Source: apimachinery pkg/util/managedfields/scalehandler.go.
 */
const IN_SCALE: FieldSet = { "f:spec": { "f:replicas": LEAF } }

/**
 * Returns the entries of a workload that own its replicas, as entries of its Scale. `steps` is the path of the replicas
 * in the workload.
 */
export function entriesOfScale(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  steps: readonly string[],
): readonly Entry[] {
  const path = pathOf(steps)
  return (entriesFrom(managedFields) ?? [])
    .filter(({ fieldsV1 }) => !isEmpty(intersection(fieldsV1, path)))
    .map((entry) =>
      entryOf({ ...entry, manager: entry.manager ?? "", apiVersion: Scale.apiVersion }, IN_SCALE, entry.time),
    )
}

/**
 * Returns the entries of a workload after a write to its Scale, whose entries are `scale` now. A manager that lost the
 * replicas in the Scale loses them in the workload; one that got them through the Scale gets an entry of its own,
 * without a time, as upstream.
 */
export function entriesOfWorkload(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  scale: readonly ManagedFieldsEntry[] | undefined,
  { apiVersion }: { readonly apiVersion: string },
  steps: readonly string[],
): readonly Entry[] {
  const path = pathOf(steps)
  const owners = new Map((entriesFrom(scale) ?? []).filter(ownsReplicas).map((entry) => [ownerOf(entry), entry]))
  const kept = (entriesFrom(managedFields) ?? []).flatMap((entry) => {
    if (isEmpty(intersection(entry.fieldsV1, path)) || owners.delete(ownerOf(entry))) return entry
    return withSet(entry, difference(entry.fieldsV1, path)) ?? []
  })
  const added = [...owners.values()].map((entry) =>
    entryOf({ ...entry, manager: entry.manager ?? "", apiVersion }, path, undefined),
  )
  return sorted([...kept, ...added])
}

const ownsReplicas = ({ fieldsV1 }: Entry): boolean => !isEmpty(intersection(fieldsV1, IN_SCALE))

const ownerOf = ({ manager, operation, subresource = "" }: Entry): string =>
  JSON.stringify([manager, operation, subresource])

const pathOf = (steps: readonly string[]): FieldSet =>
  steps.reduceRight<FieldSet>((inner, step) => ({ [`f:${step}`]: inner }), LEAF)
