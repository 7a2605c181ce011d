import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { isDNS1123Label, isEnvVarName } from "../../../../apimachinery/validation/names.ts"

export const ObjectFieldSelector = message(
  "core.v1.ObjectFieldSelector",
  "Names a field of the pod.",
  {
    apiVersion: f.string(1, "API version of the path.").default("v1"),
    fieldPath: f.string(2, "Path of the field, such as `metadata.name`.").required().ownRule(),
  },
  { mapType: "atomic" },
)
export interface ObjectFieldSelector extends ObjectOf<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = message(
  "core.v1.ResourceFieldSelector",
  "Names a request or limit of a container.",
  {
    containerName: f.string(1, "Name of the container; must be given in volumes."),
    resource: f.string(2, "For instance `limits.cpu`.").required().ownRule(),
    divisor: f.quantity(3, "The unit in which the value is written.").default("0"),
  },
  { mapType: "atomic" },
)
export interface ResourceFieldSelector extends ObjectOf<typeof ResourceFieldSelector> {}

export const ConfigMapKeySelector = message(
  "core.v1.ConfigMapKeySelector",
  "Names a key of a ConfigMap.",
  {
    name: f.string(1, "Name of the ConfigMap.").default("").embeddedIn(1),
    key: f.string(2, "The key.").required(),
    optional: f.bool(3, "Whether the ConfigMap or key may be missing.").pointer(),
  },
  { mapType: "atomic" },
)
export interface ConfigMapKeySelector extends ObjectOf<typeof ConfigMapKeySelector> {}

export const SecretKeySelector = message(
  "core.v1.SecretKeySelector",
  "Names a key of a Secret.",
  {
    name: f.string(1, "Name of the Secret.").default("").embeddedIn(1),
    key: f.string(2, "The key.").required(),
    optional: f.bool(3, "Whether the Secret or key may be missing.").pointer(),
  },
  { mapType: "atomic" },
)
export interface SecretKeySelector extends ObjectOf<typeof SecretKeySelector> {}

export const FileKeySelector = message(
  "core.v1.FileKeySelector",
  "Names a key of an env file in a volume.",
  {
    volumeName: f.string(1, "Name of the volume that holds the file.").required().check(isDNS1123Label),
    path: f.string(2, "Path of the file in the volume.").required(),
    key: f.string(3, "The key in the file.").required().check(isEnvVarName),
    optional: f.bool(4, "Whether the file or key may be missing.").default(false).pointer(),
  },
  { mapType: "atomic" },
)
export interface FileKeySelector extends ObjectOf<typeof FileKeySelector> {}

export const EnvVarSource = message("core.v1.EnvVarSource", "The source of a variable's value; exactly one is set.", {
  fieldRef: f.message(1, ObjectFieldSelector, "A field of the pod."),
  resourceFieldRef: f.message(2, ResourceFieldSelector, "A request or limit of a container."),
  configMapKeyRef: f.message(3, ConfigMapKeySelector, "A key of a ConfigMap."),
  secretKeyRef: f.message(4, SecretKeySelector, "A key of a Secret."),
  fileKeyRef: f.message(5, FileKeySelector, "A key of an env file in a volume."),
})
export interface EnvVarSource extends ObjectOf<typeof EnvVarSource> {}

export const EnvVar = message("core.v1.EnvVar", "An environment variable.", {
  name: f.string(1, "Name of the variable.").required().check(isEnvVarName),
  value: f.string(2, "Value; $(NAME) stands for variables before it."),
  valueFrom: f.message(3, EnvVarSource, "Source of the value, when it is not given."),
})
export interface EnvVar extends ObjectOf<typeof EnvVar> {}

export const ConfigMapEnvSource = message("core.v1.ConfigMapEnvSource", "A ConfigMap whose keys become variables.", {
  name: f.string(1, "Name of the ConfigMap.").default("").embeddedIn(1),
  optional: f.bool(2, "Whether the ConfigMap may be missing.").pointer(),
})
export interface ConfigMapEnvSource extends ObjectOf<typeof ConfigMapEnvSource> {}

export const SecretEnvSource = message("core.v1.SecretEnvSource", "A Secret whose keys become variables.", {
  name: f.string(1, "Name of the Secret.").default("").embeddedIn(1),
  optional: f.bool(2, "Whether the Secret may be missing.").pointer(),
})
export interface SecretEnvSource extends ObjectOf<typeof SecretEnvSource> {}

export const EnvFromSource = message("core.v1.EnvFromSource", "A set of variables from a ConfigMap or a Secret.", {
  prefix: f.string(1, "Put before each key."),
  configMapRef: f.message(2, ConfigMapEnvSource, "The ConfigMap."),
  secretRef: f.message(3, SecretEnvSource, "The Secret."),
})
export interface EnvFromSource extends ObjectOf<typeof EnvFromSource> {}
