import { deprecationOf } from "../../core/v1/node/node-label-warnings.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  tooLong,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Source: k8s.io/api storage/v1/types.go, pkg/apis/storage/v1/defaults.go, ValidateStorageClass in
 * pkg/apis/storage/validation.
 */

const DEFAULT_ANNOTATION = "storageclass.kubernetes.io/is-default-class"
const MOST_PARAMETERS = 512
const MOST_PARAMETER_BYTES = 256 * 1024

export const TopologySelectorLabelRequirement = message(
  "core.v1.TopologySelectorLabelRequirement",
  "Values that a label of a node may have.",
  {
    key: f.string(1, "The label's key.").required().ownRule(),
    values: f.list(2, e.string, "The values.").required().atomic(),
  },
)
export interface TopologySelectorLabelRequirement extends ObjectOf<typeof TopologySelectorLabelRequirement> {}

export const TopologySelectorTerm = message(
  "core.v1.TopologySelectorTerm",
  "Conditions on a node's labels that must all hold.",
  {
    matchLabelExpressions: f.list(1, TopologySelectorLabelRequirement, "The conditions.").atomic(),
  },
  { mapType: "atomic" },
)
export interface TopologySelectorTerm extends ObjectOf<typeof TopologySelectorTerm> {}

const fields = {
  provisioner: f.string(2, "Provisioner that creates the volumes.").required(),
  parameters: f.map(3, e.string, "Parameters for the provisioner."),
  reclaimPolicy: f
    .string(4, "What becomes of a volume when its claim is gone.")
    .default("Delete")
    .enum("Delete", "Retain", "Recycle")
    .pointer()
    .ownRule(),
  mountOptions: f.list(5, e.string, "Options of the mount.").atomic(),
  allowVolumeExpansion: f.bool(6, "Whether volumes may grow.").pointer(),
  volumeBindingMode: f
    .string(7, "Whether a claim is bound at once, or when a pod needs it.")
    .default("Immediate")
    .enum("Immediate", "WaitForFirstConsumer")
    .pointer(),
  allowedTopologies: f.list(8, TopologySelectorTerm, "Topologies in which volumes may be created.").atomic(),
}
export interface StorageClass extends ObjectFor<typeof fields> {}

export const StorageClass = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "StorageClass",
    plural: "storageclasses",
    shortNames: ["sc"],
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A way of making volumes for claims.",
    nameColumn: false,
    columns: [
      {
        name: "Name",
        type: "string",
        format: "name",
        doc: "Name of the class; the default class is marked.",
        value: ({ metadata: { name = "", annotations } }) =>
          annotations?.[DEFAULT_ANNOTATION] === "true" ? `${name} (default)` : name,
      },
      {
        name: "Provisioner",
        type: "string",
        doc: "Provisioner that creates the volumes.",
        value: ({ provisioner }) => provisioner,
      },
      {
        name: "ReclaimPolicy",
        type: "string",
        doc: "What happens to a volume when its claim is deleted.",
        value: ({ reclaimPolicy }) => reclaimPolicy,
      },
      {
        name: "VolumeBindingMode",
        type: "string",
        doc: "When claims are bound.",
        value: ({ volumeBindingMode }) => volumeBindingMode,
      },
      {
        name: "AllowVolumeExpansion",
        type: "string",
        doc: "Whether volumes may grow.",
        value: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
      },
    ],
    returnsDeletedObject: true,
    warnings: ({ allowedTopologies = [] }) =>
      allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
        matchLabelExpressions.flatMap(({ key }, j) => {
          const deprecation = deprecationOf(key)
          return deprecation === undefined
            ? []
            : [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${deprecation}`]
        }),
      ),
    validate: (storageClass) => classFaults(storageClass),
    validateUpdate: (storageClass, old) =>
      (["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const).flatMap((field) =>
        deepEqual(storageClass[field], old[field])
          ? []
          : [invalidValue(field, storageClass[field], "field is immutable")],
      ),
  },
  fields,
)

function classFaults({
  provisioner,
  parameters = {},
  reclaimPolicy,
  allowedTopologies = [],
}: StorageClass): readonly Cause[] {
  const causes: Cause[] = [...provisionerFaults("provisioner", provisioner), ...parameterFaults(parameters)]
  const policy: string = reclaimPolicy
  if (policy !== "" && policy !== "Delete" && policy !== "Retain")
    causes.push(notSupported("reclaimPolicy", policy, ["Delete", "Retain"]))
  within(causes, topologyFaults(allowedTopologies), "allowedTopologies")
  return causes
}

/** The name of a provisioner has the form of a label name, and may have capital letters. */
export function provisionerFaults(field: string, name: string): readonly Cause[] {
  const lower = name.toLowerCase()
  return name === "" ? NO_CAUSES : invalidValues(field, lower, isQualifiedName(lower))
}

/** The most faults of duplicate terms that are reported; each repetition of a term gives one. */
const MOST_DUPLICATES = 1000

function topologyFaults(terms: readonly TopologySelectorTerm[]): readonly Cause[] {
  // Upstream also compares each term with as many empty terms as there are terms.
  const seen = new Map([["", terms.length]])
  let reported = 0
  return terms.flatMap(({ matchLabelExpressions = [] }, i) => {
    const causes: Cause[] = []
    const values = new Map<string, string>()
    for (const [j, expression] of matchLabelExpressions.entries()) {
      const { key, values: listed = [] } = expression
      const here = at("", i, "matchLabelExpressions", j)
      for (const k of repeated(listed, (value) => value)) causes.push(duplicate(at(here, "values", k), listed[k]!))
      pushAll(causes, invalidValues(at(here, "key"), key, isQualifiedName(key)))
      if (values.has(key)) causes.push(duplicate(at(here, "key"), key))
      values.set(key, JSON.stringify([...new Set(listed)].sort()))
    }
    const term = [...values]
      .map((entry) => JSON.stringify(entry))
      .sort()
      .join()
    const before = seen.get(term) ?? 0
    for (let n = 0; n < before && reported < MOST_DUPLICATES; n++, reported++)
      causes.push(duplicate(at("", i, "matchLabelExpressions"), ""))
    seen.set(term, before + 1)
    return causes
  })
}

/** Returns the faults of parameters: empty names, too many parameters, or too many bytes. */
export function parameterFaults(parameters: Readonly<Record<string, string>>): readonly Cause[] {
  const entries = Object.entries(parameters)
  if (entries.length > MOST_PARAMETERS) return [tooLong("parameters", MOST_PARAMETERS)]
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  return [
    ...entries.flatMap(([key]) => (key === "" ? [invalidValue("parameters", key, "field can not be empty.")] : [])),
    ...(size > MOST_PARAMETER_BYTES ? [tooLong("parameters", MOST_PARAMETER_BYTES)] : []),
  ]
}

/**
 * Returns the class that claims without one get: of several that are marked the newest, and of equally old ones the
 * first by name. Source: pkg/volume/util/storageclass.go GetDefaultClass.
 */
export const defaultClass = (classes: readonly StorageClass[]): StorageClass | undefined =>
  classes
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_ANNOTATION] === "true")
    .toSorted(
      ({ metadata: a }, { metadata: b }) =>
        compare(b.creationTimestamp ?? "", a.creationTimestamp ?? "") || compare(a.name ?? "", b.name ?? ""),
    )[0]

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
