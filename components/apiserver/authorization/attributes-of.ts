import type { RequestInfo } from "../call/request-info.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import { authorizedName, authorizedSelector } from "./authorize.ts"

/** Returns what authorization decides on: who wants to do what with which resource, or with which path. */
export const attributesOf = (user: UserInfo, info: RequestInfo): ResourceAttributes | NonResourceRequest =>
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
      }
    : { user, verb: info.verb, path: info.path }
