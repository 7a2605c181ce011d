import { imageTag } from "./image-reference.ts"

/**
 * Defaults that depend on other fields of a container or pod spec. Each function returns the same value when it has
 * nothing to add. The parameter types are loose because decoding calls these functions before anything is validated.
 * Source: pkg/apis/core/v1/defaults.go.
 */

type PullPolicy = "Always" | "IfNotPresent"

/** The policies of images that were named before, since most pods have one of a few images. */
const policies = new Map<string, PullPolicy>()
const MOST_POLICIES = 500

function policyFor(image: string): PullPolicy {
  let policy = policies.get(image)
  if (policy === undefined) {
    policy = imageTag(image) === "latest" ? "Always" : "IfNotPresent"
    if (policies.size >= MOST_POLICIES) policies.clear()
    // A client may send a megabyte for an image.
    if (image.length < LONGEST_KEPT) policies.set(image, policy)
  }
  return policy
}
const LONGEST_KEPT = 300

/**
 * Sets imagePullPolicy by the image's tag; IfNotPresent for text that is not an image. An empty text counts as absent,
 * as Go sends it.
 */
export function containerDefaults<
  C extends { readonly image?: string | undefined; readonly imagePullPolicy?: string | undefined },
>(container: C): C {
  return (container.imagePullPolicy ?? "") === ""
    ? { ...container, imagePullPolicy: policyFor(container.image ?? "") }
    : container
}

/** Makes a volume without a source an emptyDir, and sets the pull policy of an image volume. */
export function volumeDefaults<
  V extends {
    readonly name?: string | undefined
    readonly image?: { readonly reference?: string | undefined; readonly pullPolicy?: string | undefined } | undefined
  },
>(volume: V): V {
  const { image } = volume
  if (image !== undefined && (image.pullPolicy ?? "") === "")
    return { ...volume, image: { ...image, pullPolicy: policyFor(image.reference ?? "") } }
  for (const key in volume) if (key !== "name" && volume[key] !== undefined) return volume
  return { ...volume, emptyDir: {} }
}

interface Account {
  readonly serviceAccountName?: string | undefined
  readonly serviceAccount?: string | undefined
}
/**
 * Sets the old name of serviceAccountName to the value of the new one, and the new one to that of the old one only if
 * it is empty. Source: pkg/apis/core/v1/conversion.go.
 */
export function podSpecDefaults<S extends Account>(spec: S): S {
  const { serviceAccountName = "", serviceAccount = "" } = spec
  if (serviceAccountName === serviceAccount) return spec
  const name = serviceAccountName === "" ? serviceAccount : serviceAccountName
  return { ...spec, serviceAccountName: name, serviceAccount: name }
}
