import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import type { Cause, GroupResource } from "../../../apimachinery/errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { at, invalidValue, invalidValues } from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label, isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/namespace/strategy.go, ValidateNamespace in
 * pkg/apis/core/validation.
 */

/** The finalizer of the namespace controller in spec.finalizers. Other finalizers belong to users. */
export const FINALIZER_KUBERNETES = "kubernetes"
/** The label with the namespace's name, so that selectors can match namespaces by name. */
const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"

export const NamespaceSpec = message("core.v1.NamespaceSpec", "The desired state of a namespace.", {
  finalizers: f.list(1, e.string, "Who must agree before the namespace is removed.").atomic(),
})
export interface NamespaceSpec extends ObjectOf<typeof NamespaceSpec> {}

export const NamespaceCondition = message("core.v1.NamespaceCondition", "One aspect of a namespace's state.", {
  type: f.string(1, "Name of the aspect.").printZero(),
  status: f.string(2, "True, False or Unknown.").printZero(),
  lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
  reason: f.string(5, "Reason of the last change, one word."),
  message: f.string(6, "The reason in words."),
})
export interface NamespaceCondition extends ObjectOf<typeof NamespaceCondition> {}

/** Source: SetDefaults_NamespaceStatus. */
const activeByDefault = <T extends { readonly phase?: string | undefined }>(status: T): T =>
  (status.phase ?? "") === "" ? { ...status, phase: "Active" } : status

export const NamespaceStatus = message(
  "core.v1.NamespaceStatus",
  "The present state of a namespace.",
  {
    phase: f.string(1, "Active, or Terminating once it is being deleted.").enum("Active", "Terminating").ownRule(),
    conditions: f
      .list(2, NamespaceCondition, "Aspects of the state; the namespace controller says here what holds a deletion up.")
      .listMap("type")
      .merge("type"),
  },
  { defaults: activeByDefault },
)
export interface NamespaceStatus extends ObjectOf<typeof NamespaceStatus> {}

const fields = {
  spec: f.message(2, NamespaceSpec, "What is wanted of the namespace.").always(),
  status: f.message(3, NamespaceStatus, "The present state of the namespace.").always(),
}
export interface Namespace extends ObjectFor<typeof fields> {}

export const Namespace = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    shortNames: ["ns"],
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1, ownPreconditions: true },
    doc: "A scope for names: objects in different namespaces may have the same name.",
    returnsDeletedObject: true,
    verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
    subresources: {
      status: {
        validateUpdate: (ns) => {
          const deleted = ns.metadata.deletionTimestamp !== undefined
          if (ns.status.phase === (deleted ? "Terminating" : "Active")) return []
          return [
            invalidValue(
              "status.Phase",
              ns.status.phase ?? "",
              deleted
                ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                : "may only be 'Active' if `deletionTimestamp` is empty",
            ),
          ]
        },
      },
      other: {
        // The only way to change spec.finalizers. A write that removes the last one deletes the namespace.
        finalize: {
          verbs: ["update"],
          kind: "Namespace",
          strategy: {
            resets: [["status"]],
            prepareForUpdate: (ns, old) => ({ ...ns, status: old.status }),
            validateUpdate: (ns) => namespaceFinalizerFaults(ns),
          },
        },
      },
    },
    columns: [{ name: "Status", type: "string", doc: "Phase of the namespace.", value: (ns) => ns.status.phase }],
    fieldSelectors: { "status.phase": (ns) => ns.status.phase ?? "" },
    validateName: isDNS1123Label,
    defaults: (ns) => {
      const metadata = named(ns.metadata)
      return metadata === ns.metadata ? ns : { ...ns, metadata }
    },
    prepareForCreate: (ns): Namespace => {
      const finalizers = ns.spec.finalizers ?? []
      return {
        ...ns,
        metadata: named(ns.metadata),
        spec: {
          ...ns.spec,
          finalizers: finalizers.includes(FINALIZER_KUBERNETES) ? finalizers : [...finalizers, FINALIZER_KUBERNETES],
        },
        status: { phase: "Active" },
      }
    },
    prepareForUpdate: (ns, old) => ({
      ...ns,
      spec: { ...ns.spec, finalizers: old.spec.finalizers },
    }),
    // Upstream gives the path of the list and not of the item for a new namespace.
    validateCreate: (ns) =>
      (ns.spec.finalizers ?? []).flatMap((finalizer) => finalizerFaults("spec.finalizers", finalizer)),
  },
  fields,
)

/** Adds the label with the namespace's name. */
const named = (metadata: ObjectMeta): ObjectMeta =>
  (metadata.name ?? "") === "" || metadata.labels?.[NAMESPACE_NAME_LABEL] === metadata.name
    ? metadata
    : { ...metadata, labels: { ...metadata.labels, [NAMESPACE_NAME_LABEL]: metadata.name! } }

/** Validates a change of spec.finalizers through `finalize`. Source: ValidateNamespaceFinalizeUpdate. */
const namespaceFinalizerFaults = ({ spec: { finalizers = [] } }: Namespace): readonly Cause[] =>
  finalizers.flatMap((finalizer, i) => finalizerFaults(at("spec.finalizers", i), finalizer))

/** Validates a finalizer: it must be a qualified name, and one of Kubernetes' own if it has no `/`. */
const finalizerFaults = (field: string, finalizer: string): readonly Cause[] => [
  ...invalidValues(field, finalizer, isQualifiedName(finalizer)),
  ...(finalizer.includes("/") || [FINALIZER_KUBERNETES, "orphan", "foregroundDeletion"].includes(finalizer)
    ? []
    : [invalidValue(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified")]),
]

/** Whether a resource is that of Namespaces: admission counts each Namespace as inside of itself. */
export const isNamespaceResource = ({ group, plural }: GroupResource): boolean =>
  group === "" && plural === "namespaces"
