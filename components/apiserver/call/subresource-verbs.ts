import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/** 404 for an unknown subresource, 405 for a verb that it does not support. Source: genericapiserver's route errors. */
export const noSuchResource = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource", {})
export const noSuchMethod = (): ApiError =>
  new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource", {})

/**
 * @throws ApiError NotFound when the resource has no such subresource, MethodNotAllowed when that does not support the
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
