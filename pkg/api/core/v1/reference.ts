import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/** References from objects to other objects. Source: k8s.io/api core/v1/types.go. */

export const ObjectReference = message(
  "core.v1.ObjectReference",
  "Names an object, or a part of one.",
  {
    kind: f.string(1, "Kind of the object."),
    namespace: f.string(2, "Namespace of the object."),
    name: f.string(3, "Name of the object."),
    uid: f.string(4, "UID of the object."),
    apiVersion: f.string(5, "API version of the object."),
    resourceVersion: f.string(6, "Version of the object that is meant, if a certain one."),
    fieldPath: f.string(7, "The part that is meant, such as spec.containers{name}; empty for the whole object."),
  },
  { mapType: "atomic" },
)
export interface ObjectReference extends ObjectOf<typeof ObjectReference> {}

export const LocalObjectReference = message(
  "core.v1.LocalObjectReference",
  "Names an object in the same namespace.",
  {
    name: f.string(1, "Name of the object.").zeroDefault(),
  },
  { mapType: "atomic" },
)
export interface LocalObjectReference extends ObjectOf<typeof LocalObjectReference> {}

export const TypedLocalObjectReference = message(
  "core.v1.TypedLocalObjectReference",
  "Names an object of a given kind in the same namespace.",
  {
    apiGroup: f.string(1, "Group of the kind; empty for the core group.").pointer().orNull(),
    kind: f.string(2, "Kind of the object.").required(),
    name: f.string(3, "Name of the object.").required(),
  },
  { mapType: "atomic" },
)
export interface TypedLocalObjectReference extends ObjectOf<typeof TypedLocalObjectReference> {}

export const TypedObjectReference = message(
  "core.v1.TypedObjectReference",
  "Names an object of a given kind, also in another namespace.",
  {
    apiGroup: f.string(1, "Group of the kind; empty for the core group.").pointer().orNull(),
    kind: f.string(2, "Kind of the object.").required(),
    name: f.string(3, "Name of the object.").required(),
    namespace: f.string(4, "Namespace of the object; the referring object's when empty.").pointer(),
  },
)
export interface TypedObjectReference extends ObjectOf<typeof TypedObjectReference> {}

export const SecretReference = message(
  "core.v1.SecretReference",
  "Names a Secret in any namespace.",
  {
    name: f.string(1, "Name of the Secret, unique in its namespace."),
    namespace: f.string(2, "Namespace of the Secret."),
  },
  { mapType: "atomic" },
)
export interface SecretReference extends ObjectOf<typeof SecretReference> {}
