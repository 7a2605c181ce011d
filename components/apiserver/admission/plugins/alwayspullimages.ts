import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ApiError, forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { notSupported } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { on, type AdmissionPlugin, type AttributesOf } from "../admission.ts"
import { containersOf } from "./pods.ts"

const ALWAYS = "Always"

/**
 * Has every image pulled when its container starts, so that only who has credentials for an image can run it. Updates
 * that bring no new image pass. Source: plugin/pkg/admission/alwayspullimages.
 */
export const alwaysPullImages: AdmissionPlugin = on(Pod, {
  name: "AlwaysPullImages",
  operations: ["CREATE", "UPDATE"],
  admit(attributes) {
    if (bringsNoImage(attributes)) return undefined
    const { object: pod } = attributes
    const { spec } = pod
    const pulled = <C extends { readonly imagePullPolicy?: string | undefined }>(containers: readonly C[]) =>
      containers.map((container) => ({ ...container, imagePullPolicy: ALWAYS }) as const)
    return {
      ...pod,
      spec: {
        ...spec,
        containers: pulled(spec.containers),
        ...(spec.initContainers === undefined ? {} : { initContainers: pulled(spec.initContainers) }),
        ...(spec.ephemeralContainers === undefined ? {} : { ephemeralContainers: pulled(spec.ephemeralContainers) }),
        ...(spec.volumes === undefined
          ? {}
          : {
              volumes: spec.volumes.map((volume) =>
                volume.image === undefined
                  ? volume
                  : { ...volume, image: { ...volume.image, pullPolicy: ALWAYS } as const },
              ),
            }),
      },
    }
  },
  validate(attributes) {
    if (bringsNoImage(attributes)) return
    const {
      resource,
      name,
      object: { spec },
    } = attributes
    const policies = [
      ...(["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
        (spec[list] ?? []).map(
          ({ imagePullPolicy = "" }, i) => [`spec.${list}[${i}].imagePullPolicy`, imagePullPolicy] as const,
        ),
      ),
      ...(spec.volumes ?? []).flatMap(({ image }, i) =>
        image === undefined ? [] : [[`spec.volumes[${i}].image.pullPolicy`, image.pullPolicy ?? ""] as const],
      ),
    ]
    const wrong = policies.filter(([, policy]) => policy !== ALWAYS)
    if (wrong.length === 0) return
    const messages = wrong.map(([field, policy]) => {
      const { message } = notSupported(field, policy, [ALWAYS])
      return forbidden(resource, name, `${field}: ${message}`).message
    })
    // Upstream answers several refusals at once, which have no reason together.
    throw new ApiError("Unknown", messages.length === 1 ? messages[0]! : `[${messages.join(", ")}]`)
  },
})

function bringsNoImage({ operation, object, old }: AttributesOf<Pod>): boolean {
  if (operation !== "UPDATE" || old === undefined) return false
  const known = new Set(containersOf(old).map(({ image }) => image))
  return containersOf(object).every(({ image }) => known.has(image))
}
