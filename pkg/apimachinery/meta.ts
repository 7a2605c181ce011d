import { e, f, message, type InputOf, type ObjectOf } from "./fields.ts"

/** Source of this file: apimachinery pkg/apis/meta/v1/types.go. */
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1"

export const OwnerReference = message(
  `${meta}.OwnerReference`,
  "Refers to the owner of an object. When all owners are deleted, the object is deleted too.",
  {
    apiVersion: f.string(5, "API version of the owner.").required().printZero(),
    kind: f.string(1, "Kind of the owner.").required().printZero(),
    name: f.string(3, "Name of the owner, in the same namespace or cluster-wide.").required().printZero(),
    uid: f.string(4, "UID of the owner.").required().printZero(),
    controller: f.bool(6, "Whether this owner is the controller that manages the object; at most one is.").pointer(),
    blockOwnerDeletion: f
      .bool(7, "Whether a foreground deletion of the owner waits until this object is deleted.")
      .pointer(),
  },
  { mapType: "atomic" },
)
export interface OwnerReference extends ObjectOf<typeof OwnerReference> {}

export const ManagedFieldsEntry = message(
  `${meta}.ManagedFieldsEntry`,
  "The fields that one manager owns, and the operation by which it owns them.",
  {
    manager: f.string(1, "Name of the manager."),
    operation: f.string(2, "Apply or Update.").enum("Apply", "Update"),
    apiVersion: f.string(3, "Version in which the field set is written."),
    time: f.time(4, "When the entry last changed."),
    fieldsType: f.string(6, "Format of the field set; only FieldsV1 exists."),
    fieldsV1: f.fieldsV1(7, "The set of owned fields."),
    subresource: f.string(8, "Subresource through which the fields were written, if any."),
  },
)
export interface ManagedFieldsEntry extends ObjectOf<typeof ManagedFieldsEntry> {}

export const ObjectMeta = message(`${meta}.ObjectMeta`, "Metadata of every stored object.", {
  name: f.string(1, "Name, unique among the objects of its kind in the namespace. Cannot be changed."),
  generateName: f.string(2, "Prefix from which the server makes a unique name when none is given."),
  namespace: f.string(3, "Namespace that holds the object; empty for cluster-wide kinds. Cannot be changed."),
  selfLink: f.string(4, "Deprecated; no longer set."),
  uid: f.string(5, "Unique in time and space; set by the server."),
  resourceVersion: f.string(6, "Opaque version of the stored object; changes with every write."),
  generation: f.int64(7, "Counts the changes of the desired state; set by the server."),
  creationTimestamp: f.time(8, "CreationTimestamp is a timestamp of when the object was created; set by the server."),
  deletionTimestamp: f.time(9, "When the object will be deleted; set by the server at a graceful deletion."),
  deletionGracePeriodSeconds: f.int64(10, "Seconds that the object has to terminate; can only be shortened.").pointer(),
  labels: f.map(11, e.string, "Labels, by which selectors find objects."),
  annotations: f.map(12, e.string, "Free-form keys and values for tools."),
  ownerReferences: f.list(13, OwnerReference, "Objects this one depends on.").listMap("uid").merge("uid"),
  finalizers: f.list(14, e.string, "Finalizers: the object is removed only when the list is empty.").listSet().merge(),
  managedFields: f.list(17, ManagedFieldsEntry, "The fields that each manager owns.").atomic(),
})
export interface ObjectMeta extends ObjectOf<typeof ObjectMeta> {}
export interface ObjectMetaInput extends InputOf<typeof ObjectMeta> {}

/**
 * The metadata of an object that a client sends. An empty list of managers, which is not the same as none, removes all
 * of them; in the metadata of a template, which ObjectMeta is, it means nothing.
 */
export const ObjectMetaOfRequest = message(ObjectMeta.name, ObjectMeta.doc, {
  ...ObjectMeta.fields,
  managedFields: ObjectMeta.fields.managedFields.pointer(),
})

const ShardInfo = message(`${meta}.ShardInfo`, "The part of a collection that a list contains.", {
  selector: f.string(1, "The selector of the part, as it was requested.").required(),
})

export const ListMeta = message(`${meta}.ListMeta`, "Metadata of every list.", {
  selfLink: f.string(1, "Deprecated; no longer set."),
  resourceVersion: f.string(2, "Version of the collection from which a watch can continue."),
  continue: f.string(3, "Token that requests the next part of the list."),
  remainingItemCount: f.int64(4, "Number of items after this part, if known.").pointer(),
  shardInfo: f.message(5, ShardInfo, "The part of the collection that was requested, if it was not all."),
})
export interface ListMeta extends ObjectOf<typeof ListMeta> {}

export const LabelSelectorRequirement = message(`${meta}.LabelSelectorRequirement`, "One condition on a label.", {
  key: f.string(1, "Label key to which the condition applies.").required().ownRule(),
  operator: f.string(2, "In, NotIn, Exists or DoesNotExist.").required().ownRule(),
  values: f.list(3, e.string, "Values for In and NotIn; empty for the others.").atomic(),
})
export interface LabelSelectorRequirement extends ObjectOf<typeof LabelSelectorRequirement> {}

export const LabelSelector = message(
  `${meta}.LabelSelector`,
  "A query over labels; all its conditions must hold. An empty one matches everything.",
  {
    matchLabels: f.map(1, e.string, "Labels that must have exactly these values."),
    matchExpressions: f.list(2, LabelSelectorRequirement, "Further conditions.").atomic(),
  },
  { mapType: "atomic" },
)
export interface LabelSelector extends ObjectOf<typeof LabelSelector> {}

export const Condition = message(`${meta}.Condition`, "One aspect of an object's present state.", {
  type: f.string(1, "Name of the aspect, in CamelCase.").printZero(),
  status: f.string(2, "True, False or Unknown.").printZero(),
  observedGeneration: f.int64(3, "Generation of the object that the condition was made from."),
  lastTransitionTime: f.time(4, "When the status last changed.").printZero().orNull(),
  reason: f.string(5, "Reason of the last change, one word in CamelCase.").printZero(),
  message: f.string(6, "The reason in words, for people.").printZero(),
})
export interface Condition extends ObjectOf<typeof Condition> {}

export const Preconditions = message(`${meta}.Preconditions`, "Conditions that must be true for a write.", {
  uid: f.string(1, "The object must have this UID.").pointer(),
  resourceVersion: f.string(2, "The object must be at this version.").pointer(),
})

export const DeleteOptions = message(`${meta}.DeleteOptions`, "Options of a deletion.", {
  gracePeriodSeconds: f.int64(1, "Seconds that the object has to terminate; zero deletes it at once.").pointer(),
  preconditions: f.message(2, Preconditions, "Conditions that must be true for the deletion."),
  orphanDependents: f.bool(3, "Deprecated; use propagationPolicy.").pointer(),
  propagationPolicy: f
    .string(4, "Orphan, Background or Foreground: what happens to the objects that it owns.")
    .pointer(),
  dryRun: f.list(5, e.string, "`All` runs every stage but stores nothing.").atomic(),
  ignoreStoreReadErrorWithClusterBreakingPotential: f
    .bool(6, "Delete the object even if it cannot be read from the store.")
    .pointer(),
})
export interface DeleteOptions extends ObjectOf<typeof DeleteOptions> {}
