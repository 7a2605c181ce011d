import type { ResourceAttributes } from "../request.ts"

/** The words of a refusal after `pods "x" is forbidden: `. Source: endpoints/handlers/responsewriters/errors.go ForbiddenMessage. */
export function forbiddenMessage(
  { user, verb, group, resource, subresource, namespace }: ResourceAttributes,
  reason: string,
): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const where =
    namespace === undefined || namespace === ""
      ? "at the cluster scope"
      : `in the namespace ${JSON.stringify(namespace)}`
  const text = `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`
  return reason === "" ? text : `${text}: ${reason}`
}
