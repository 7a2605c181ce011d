/** The annotations in which a build keeps what it knows of an object. Source: kustomize api/internal/utils/annotations.go. */
const DOMAIN = "internal.config.kubernetes.io"

export const PREVIOUS_KINDS = `${DOMAIN}/previousKinds`
export const PREVIOUS_NAMES = `${DOMAIN}/previousNames`
export const PREVIOUS_NAMESPACES = `${DOMAIN}/previousNamespaces`
export const PREFIXES = `${DOMAIN}/prefixes`
export const SUFFIXES = `${DOMAIN}/suffixes`
export const REFERRED_BY = `${DOMAIN}/refBy`
export const BEHAVIOR = `${DOMAIN}/generatorBehavior`
export const NEEDS_HASH = `${DOMAIN}/needsHashSuffix`
export const ALLOWS_NAME_CHANGE = `${DOMAIN}/allowNameChange`
export const ALLOWS_KIND_CHANGE = `${DOMAIN}/allowKindChange`
export const HELM_GENERATED = `${DOMAIN}/helm-generated`
export const ENABLED = "enabled"

/** Where an object comes from, and what has changed it. They stay when `buildMetadata` asks for them. */
export const ORIGIN = "config.kubernetes.io/origin"
export const TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"

/** Objects with this annotation are not part of the output, unless it is "false". */
export const LOCAL_CONFIG = "config.kubernetes.io/local-config"

/** The annotations that are removed from the output. Source: kustomize api/resource/resource.go BuildAnnotations. */
export const BUILD_ANNOTATIONS: readonly string[] = [
  PREVIOUS_KINDS,
  PREVIOUS_NAMES,
  PREFIXES,
  SUFFIXES,
  PREVIOUS_NAMESPACES,
  ALLOWS_NAME_CHANGE,
  ALLOWS_KIND_CHANGE,
  REFERRED_BY,
  BEHAVIOR,
  NEEDS_HASH,
  "internal.config.kubernetes.io/path",
  "internal.config.kubernetes.io/index",
  "internal.config.kubernetes.io/seqindent",
  "internal.config.kubernetes.io/id",
  "internal.config.kubernetes.io/annotations-migration-resource-id",
  "config.kubernetes.io/path",
  "config.kubernetes.io/index",
  "config.k8s.io/id",
  HELM_GENERATED,
]
