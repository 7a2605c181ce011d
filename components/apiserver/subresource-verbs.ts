import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"

/** 404 for what no resource has, 405 for a verb it does not take. Source: genericapiserver's route errors. */
export const noSuchResource = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource", {})
export const noSuchMethod = (): ApiError =>
  new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource", {})

/**
 * @throws ApiError NotFound where a resource has no such subresource, MethodNotAllowed where that does not take the
 * verb
 */
export function checkSubresource(resource: Resource, subresource: string, verb: string): void {
  const verbs = verbsOf(resource, subresource)
  if (verbs === undefined) throw noSuchResource()
  if (!verbs.includes(verb)) throw noSuchMethod()
}

const READ_WRITE: readonly string[] = ["get", "patch", "update"]

function verbsOf({ subresources }: Resource, subresource: string): readonly string[] | undefined {
  if (subresource === "status") return subresources?.status === undefined ? undefined : READ_WRITE
  if (subresource === "scale" && subresources?.scale !== undefined) return READ_WRITE
  return subresources?.other?.[subresource]?.verbs
}
