import type { Image } from "../kustomization/kustomization.ts"
import { goPattern, type Pattern } from "./regular-expression.ts"

const TAG_AND_DIGEST = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$"

/** Returns a pattern that matches references to an image. Source: kustomize api/internal/image/image.go. */
export const imagePattern = (name: string): Pattern => goPattern(name, { before: "^", after: TAG_AND_DIGEST })

interface Reference {
  readonly name: string
  readonly tag: string
  readonly digest: string
}

/** Splits a reference. Colons before the first slash are part of the name. */
export function splitImage(reference: string): Reference {
  const slash = reference.indexOf("/")
  const from = slash > 0 ? slash : 0
  const at = reference.indexOf("@", from)
  const colon = reference.indexOf(":", from)
  if (at === -1 && colon === -1) return { name: reference, tag: "", digest: "" }
  if (at !== -1 && (colon === -1 || at < colon))
    return { name: reference.slice(0, at), tag: "", digest: reference.slice(at + 1) }
  const end = at === -1 ? reference.length : at
  return { name: reference.slice(0, colon), tag: reference.slice(colon + 1, end), digest: reference.slice(end + 1) }
}

/** Returns a reference with the name, the tag and the digest that a kustomization sets. */
export function changedImage(reference: string, { newName, newTag, digest, tagSuffix }: Image): string {
  const old = splitImage(reference)
  let [tag, hash] = [old.tag, old.digest]
  if (newTag !== undefined && newTag !== "") [tag, hash] = [newTag, digest ?? ""]
  else if (digest !== undefined && digest !== "") [tag, hash] = ["", digest]
  else if (tagSuffix !== undefined && tagSuffix !== "") [tag, hash] = [tag + tagSuffix, ""]
  return (newName || old.name) + (tag === "" ? "" : `:${tag}`) + (hash === "" ? "" : `@${hash}`)
}
