import type { RequestInfo } from "../call/request-info.ts"
import type { ApiRequest, NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import { authorizedName, authorizedSelector } from "./authorize.ts"

/**
 * Returns what authorization decides on: who wants to do what with which resource, or with which path. A request over
 * HTTP is authorized before its body is read and it becomes an ApiRequest.
 */
export const attributesOfInfo = (user: UserInfo, info: RequestInfo): ResourceAttributes | NonResourceRequest =>
  info.isResource
    ? {
        user,
        verb: info.verb,
        group: info.group,
        version: info.version,
        resource: info.resource,
        subresource: info.subresource || undefined,
        namespace: info.namespace || undefined,
        name: authorizedName(info.verb, info.name, info.query.get("fieldSelector")),
        fieldSelector: info.legacyWatch ? undefined : authorizedSelector(info.verb, info.query.get("fieldSelector")),
        labelSelector: info.legacyWatch ? undefined : authorizedSelector(info.verb, info.query.get("labelSelector")),
      }
    : { user, verb: info.verb, path: info.path }

/** The same for a request of this process. */
export function attributesOf({
  user,
  verb,
  resource: { group, version, plural },
  subresource,
  namespace,
  name,
  options,
}: ApiRequest): ResourceAttributes {
  return {
    user,
    verb,
    group,
    version,
    resource: plural,
    subresource,
    namespace,
    name: authorizedName(verb, name, options.fieldSelector),
    fieldSelector: authorizedSelector(verb, options.fieldSelector),
    labelSelector: authorizedSelector(verb, options.labelSelector),
  }
}
