import { imageTag } from "./image-reference.ts"

/**
 * Defaults that depend on other fields of a container or pod spec. Each gives back the very value when it has nothing
 * to add. Source: pkg/apis/core/v1/defaults.go. The parameters are as loose as they are because decoding calls these
 * before anything is validated.
 */

const policyFor = (image: string): "Always" | "IfNotPresent" =>
  imageTag(image) === "latest" ? "Always" : "IfNotPresent"

/**
 * imagePullPolicy by the image's tag, IfNotPresent for what is no image; an empty text is an absent one, as Go sends
 * it.
 */
export function containerDefaults<
  C extends { readonly image?: string | undefined; readonly imagePullPolicy?: string | undefined },
>(container: C): C {
  return (container.imagePullPolicy ?? "") === ""
    ? { ...container, imagePullPolicy: policyFor(container.image ?? "") }
    : container
}

/** A volume without a source becomes an emptyDir; an image volume gets a pull policy. */
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
 * The old name of serviceAccountName follows the new one; the new one follows only when it is empty. Source:
 * pkg/apis/core/v1/conversion.go.
 */
export function podSpecDefaults<S extends Account>(spec: S): S {
  const { serviceAccountName = "", serviceAccount = "" } = spec
  if (serviceAccountName === serviceAccount) return spec
  const name = serviceAccountName === "" ? serviceAccount : serviceAccountName
  return { ...spec, serviceAccountName: name, serviceAccount: name }
}
